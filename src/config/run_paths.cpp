#include "config/run_paths.h"

#include <functional>

namespace troika {
namespace {

namespace fs = std::filesystem;
using ChangePath = std::function<fs::path(const fs::path&)>;

/// Changes the path in scheme:path?query[range]; query and range stay. Both paths of
/// npy:images,labels change; digits: has no path.
void change_data(std::string& name, const ChangePath& change) {
  std::size_t colon = name.find_first_of(":[?");
  bool has_path = colon != std::string::npos && name[colon] == ':' && colon + 1 < name.size();
  if (!has_path || name.starts_with("digits:")) return;
  std::string scheme = name.substr(0, colon + 1), rest = name.substr(colon + 1);
  std::size_t comma = scheme == "npy:" ? rest.find(',') : std::string::npos;
  if (comma == std::string::npos) {
    name = scheme + change(rest).string();
    return;
  }
  name = scheme + change(rest.substr(0, comma)).string() + "," +
         change(rest.substr(comma + 1)).string();
}

/// Calls visit(key, change) for every path of the run: change(how) changes it.
template <class Visit>
void for_each_path(RunConfig& config, Visit&& visit) {
  auto plain = [](std::string& path) {
    return [&path](const ChangePath& change) { path = change(path).string(); };
  };
  auto data = [](std::string& name) {
    return [&name](const ChangePath& change) { change_data(name, change); };
  };
  visit("data.train", data(config.data.train));
  visit("data.validation", data(config.data.validation));
  visit("data.test", data(config.data.test));
  visit("run.folder", plain(config.run.folder));
  if (config.parallel.plan.is_file()) visit("parallel.plan", plain(config.parallel.plan.name));
  if (config.kernels.cache != "auto" && config.kernels.cache != "none")
    visit("kernels.cache", plain(config.kernels.cache));
}

}  // namespace

void resolve_paths(RunConfig& run, const config::Origins& origins, const fs::path& folder) {
  for_each_path(run, [&](const char* key, const auto& change) {
    auto origin = origins.find(key);
    if (origin == origins.end() || origin->second.source != config::Source::file) return;
    change([&](const fs::path& path) { return (folder / path).lexically_normal(); });
  });
}

RunConfig with_absolute_paths(RunConfig config) {
  for_each_path(config, [](const char*, const auto& change) {
    change([](const fs::path& path) { return fs::absolute(path).lexically_normal(); });
  });
  return config;
}

}  // namespace troika
