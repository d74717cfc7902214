// What the simulator says of a plan that lies beside its kernel times.
#include <fmt/format.h>

#include "base/error.h"
#include "cli/inspection.h"
#include "cli/simulated_plan.h"

namespace troika::cli {

std::vector<Fact> facts_of_bounds(const Strategy& strategy, const std::filesystem::path& folder) {
  if (!strategy.made_for || !std::filesystem::exists(folder / "costs.json")) return {};
  try {
    SimulationTarget target = open_plan(strategy, folder, {.target = "plan"});
    target.costs = load_costs((folder / "costs.json").string());
    SimulatedPlan plan = simulate_plan(std::move(target), {.measures = false});
    return {{"predicted step", to_string(plan.step())},
            {"work and depth", bounds_text(plan.bounds())}};
  } catch (const Error& error) {
    return {{"work and depth", fmt::format("not known: {}", error.what())}};
  }
}

}  // namespace troika::cli
