#include "train/run_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/durable_file.h"
#include "base/error.h"

namespace troika {
namespace {

namespace fs = std::filesystem;

/// False when the name is taken. Unlike a look beforehand, mkdir gives a name to one process only.
bool make_new_folder(const fs::path& path) {
  if (::mkdir(path.c_str(), 0777) == 0) return true;
  if (errno == EEXIST) return false;
  throw file_error("create the run folder", path, errno);
}

}  // namespace

RunFolder RunFolder::create(const RunConfig& config, const std::string& fallback_name) {
  fs::path below(config.run.folder);
  bool asked = !config.run.name.empty();
  std::string name = asked ? config.run.name : fallback_name;
  fs::path path = below / name;
  make_folder(path.has_parent_path() ? path.parent_path() : below);
  for (int number = 2; !make_new_folder(path); ++number) {
    if (asked)
      throw Error(ErrorKind::usage,
                  fmt::format("the run folder {} exists; continue it with --resume, or give "
                              "another --name",
                              path.string()));
    path = below / fmt::format("{}-{}", name, number);
  }
  for (const char* folder : {"checkpoints", "logs"}) make_folder(path / folder);
  return open_to_write(path);
}

RunFolder RunFolder::open(const fs::path& path) {
  if (!fs::is_directory(path))
    throw Error(ErrorKind::file, fmt::format("{} is not a run folder", path.string()));
  return RunFolder(path);
}

RunFolder RunFolder::open_to_write(const fs::path& path) {
  RunFolder folder = open(path);
  folder.lease_ = std::make_unique<WriterLease>(path);
  return folder;
}

void RunFolder::write(const std::string& name, std::string_view text) const {
  require_writer();
  replace_file(path_ / name, text);
}

void RunFolder::require_writer() const {
  if (lease_) lease_->require();
}

}  // namespace troika
