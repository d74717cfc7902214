#include "config/plan_settings.h"

#include <fmt/format.h>

#include "config/override.h"
#include "config/run_keys.h"

namespace troika {

std::vector<Setting> settings_of(const RunConfig& config, std::string_view section) {
  const std::string prefix = fmt::format("{}.", section);
  std::vector<Setting> settings;
  for (const config::Entry& entry : config::list_run(config)) {
    bool is_set = entry.applies && !entry.value.empty();
    if (!entry.path.starts_with(prefix) || !is_set || entry.path == "model.name") continue;
    settings.push_back({entry.path.substr(prefix.size()), config::argument_text(entry.value)});
  }
  return settings;
}

}  // namespace troika
