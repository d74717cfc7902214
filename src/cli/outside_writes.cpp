#include "cli/outside_writes.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/cache_folder.h"

namespace troika::cli {
namespace {

namespace fs = std::filesystem;

/// The path with all links resolved, or the path itself if that fails.
fs::path real_path(const fs::path& path) {
  std::error_code unknown;
  fs::path real = fs::weakly_canonical(fs::absolute(path), unknown);
  return unknown ? fs::absolute(path).lexically_normal() : real;
}

bool is_below(const fs::path& path, const fs::path& folder) {
  if (folder.empty()) return false;
  fs::path real = real_path(path), top = real_path(folder);
  return std::ranges::mismatch(top, real).in1 == top.end();
}

}  // namespace

bool writes_cache_outside(const fs::path& folder, const RunConfig& config) {
  fs::path cache = cache_folder(config.kernels.cache);
  return !cache.empty() && !is_below(cache, folder) && !is_below(cache, cache_folder("auto"));
}

std::vector<std::string> writes_outside(const fs::path& folder, const RunConfig& config, int rank) {
  std::vector<std::string> sentences;
  if (config.kernels.measure && writes_cache_outside(folder, config))
    sentences.push_back(fmt::format(
        "kernels.cache of this run is '{}', outside the run folder and your own cache; measured "
        "times are written there unless you set kernels.cache=auto",
        config.kernels.cache));
  for (const std::string& name :
       {std::string("checkpoints"), std::string("logs"), fmt::format("logs/rank-{}", rank),
        std::string("metrics.jsonl")}) {
    fs::path path = folder / name;
    if (!is_below(path, folder))
      sentences.push_back(
          fmt::format("'{}' is a link, so this run writes to '{}', outside its folder",
                      path.string(), real_path(path).string()));
  }
  return sentences;
}

}  // namespace troika::cli
