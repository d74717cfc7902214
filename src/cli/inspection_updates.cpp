// Which updates of a plan are carried into the next step.
#include <fmt/format.h>

#include <map>

#include "base/error.h"
#include "cli/inspection.h"
#include "cli/planned_programs.h"
#include "lower/carried_updates.h"

namespace troika::cli {
namespace {

namespace fs = std::filesystem;

std::vector<CarriedUpdate> updates_of(const Strategy& strategy, const fs::path& folder) {
  std::vector<CarriedUpdate> all;
  Machine machine = devices_only(strategy);  // nodes do not matter here
  for_each_program(load_programs(strategy, folder), machine, [&](const LowerRequest& request) {
    for (CarriedUpdate& update : carried_updates(request)) all.push_back(std::move(update));
  });
  return all;
}

/// "a, b, c and 5 others"
std::string names_text(std::vector<std::string> names) {
  constexpr std::size_t kMostNames = 3;
  std::string others;
  if (names.size() > kMostNames + 1) {
    others = fmt::format(" and {} others", names.size() - kMostNames);
    names.resize(kMostNames);
  }
  return fmt::format("{}{}", fmt::join(names, ", "), others);
}

}  // namespace

std::vector<Fact> facts_of_updates(const Strategy& strategy, const fs::path& folder) try {
  if (!strategy.made_for) return {};
  std::vector<CarriedUpdate> updates = updates_of(strategy, folder);
  std::map<std::string_view, std::vector<std::string>> not_carried;  // by reason
  std::size_t carried = 0;
  for (const CarriedUpdate& update : updates) {
    if (update.why_not) not_carried[*update.why_not].push_back(update.parameter);
    carried += update.why_not ? 0 : 1;
  }
  std::string text = fmt::format("{} of {} into the next step", carried, updates.size());
  for (const auto& [reason, names] : not_carried)
    text += fmt::format("; not carried: {}: {}", names_text(names), reason);
  return {{"carried updates", text}};
} catch (const Error& error) {
  return {{"carried updates", fmt::format("not known: {}", error.what())}};
}

}  // namespace troika::cli
