#include "cli/recorded_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/mapped_file.h"
#include "cli/run_target.h"

namespace troika::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kLargestEnvironment = std::size_t{16} << 20;

void read_environment_file(const fs::path& file, RecordedRun& recorded) {
  Json json = Json::parse(read_small_file(file, kLargestEnvironment), nullptr, false);
  if (!json.is_object())
    throw Error(
        ErrorKind::file,
        fmt::format("{}: the file is not a JSON object; restore the original", file.string()));
  if (json.contains("ranks") && json["ranks"].is_number_integer())
    recorded.ranks = std::max<std::int64_t>(1, json["ranks"].get<std::int64_t>());
  if (json.contains("plan_hash") && json["plan_hash"].is_string())
    recorded.plan_hash = json["plan_hash"];
}

}  // namespace

RecordedRun read_recorded_run(const fs::path& folder) {
  RecordedRun recorded;
  if (!is_run_folder(folder)) return recorded;
  if (fs::exists(folder / "env.json")) read_environment_file(folder / "env.json", recorded);
  if (fs::exists(folder / "links.json")) recorded.links = read_link_costs(folder / "links.json");
  return recorded;
}

}  // namespace troika::cli
