#include "train/run_folder.h"

#include <fmt/format.h>

#include "base/durable_file.h"
#include "base/error.h"

namespace troika {
namespace fs = std::filesystem;

RunFolder RunFolder::create(const RunConfig& config, const std::string& fallback_name) {
  fs::path below(config.run.folder);
  bool asked = !config.run.name.empty();
  std::string name = asked ? config.run.name : fallback_name;
  fs::path path = below / name;
  std::error_code error;
  if (asked && fs::exists(path, error))
    throw Error(ErrorKind::usage,
                fmt::format("the run folder {} exists; go on with --resume or give another --name",
                            path.string()));
  for (int number = 2; fs::exists(path, error); ++number)
    path = below / fmt::format("{}-{}", name, number);
  for (const char* folder : {"checkpoints", "logs"}) fs::create_directories(path / folder, error);
  if (error)
    throw Error(ErrorKind::file, fmt::format("the run folder {} cannot be made: {}", path.string(),
                                             error.message()));
  return RunFolder(path);
}

RunFolder RunFolder::open(const fs::path& path) {
  if (!fs::is_directory(path))
    throw Error(ErrorKind::file, fmt::format("{} is no run folder", path.string()));
  return RunFolder(path);
}

void RunFolder::write(const std::string& name, std::string_view text) const {
  replace_file(path_ / name, text);
}

}  // namespace troika
