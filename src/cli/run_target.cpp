#include "cli/run_target.h"

#include <fmt/format.h>

#include <optional>

#include "base/error.h"
#include "base/number_text.h"

namespace troika::cli {
namespace {

namespace fs = std::filesystem;

/// NAME → 1, NAME-7 → 7, others nothing.
std::optional<int> number_of(const std::string& folder, const std::string& name) {
  if (folder == name) return 1;
  if (!folder.starts_with(name + "-")) return std::nullopt;
  return parse_number<int>(std::string_view(folder).substr(name.size() + 1));
}

}  // namespace

bool is_run_folder(const fs::path& path) { return fs::is_regular_file(path / "run.toml"); }

std::string name_of_run(const fs::path& file) {
  fs::path folder = fs::absolute(file).parent_path();
  if (file.filename() == "run.toml" && fs::is_directory(folder / "checkpoints"))
    return folder.filename();
  return file.stem();
}

fs::path newest_run_folder(const RunConfig& config, const fs::path& file) {
  std::string name = config.run.name.empty() ? name_of_run(file) : config.run.name;
  fs::path newest;
  int highest = 0;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(config.run.folder, ignored)) {
    std::optional<int> number = number_of(entry.path().filename(), name);
    if (!number || *number <= highest || !is_run_folder(entry.path())) continue;
    highest = *number;
    newest = entry.path();
  }
  if (highest == 0)
    throw Error(
        ErrorKind::usage,
        fmt::format("there is no run of '{}' in '{}' to resume; leave out --resume to start one",
                    file.string(), config.run.folder));
  return newest;
}

}  // namespace troika::cli
