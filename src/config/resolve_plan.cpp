#include "config/resolve_plan.h"

#include <fmt/format.h>

#include <optional>

#include "base/error.h"
#include "strategy/strategy.h"

namespace troika::config {
namespace {

/// Nothing if the file cannot be read, is not a plan, or leaves out a device.
std::optional<std::int64_t> devices_of_file(const std::string& path) {
  try {
    NamedDevices named = named_devices(load_strategy(path));
    return named.has_gap() ? std::nullopt : std::optional(named.largest + 1);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Nothing for a ready plan, which adapts to any number.
std::optional<std::int64_t> devices_of(const PlanConfig& plan) {
  if (plan.is_file()) return devices_of_file(plan.name);
  if (plan.name.empty()) return plan.data * plan.tensor * plan.pipeline;
  return std::nullopt;
}

}  // namespace

void resolve_plan(ParallelConfig& parallel, Reader& reader, int ranks) {
  const Where devices = reader.origin("parallel.devices"), plan = reader.origin("parallel.plan");
  const bool asks = devices.source == Source::command_line;
  if (devices.source < plan.source) {
    std::optional<std::int64_t> number = devices_of(parallel.plan);
    if (number && *number > kMostDevices) {
      reader.refuse(
          "parallel.plan", plan,
          fmt::format("the plan needs {} devices, but a run has at most {}; use a smaller "
                      "plan",
                      *number, kMostDevices));
    } else if (number) {
      parallel.devices = *number;
      reader.set_origin("parallel.devices", plan);
    }
  }
  bool takes_ranks = ranks > 1 && !asks && parallel.devices == 1;
  if (takes_ranks) parallel.devices = ranks;
  bool is_open = parallel.plan == PlanConfig{} && plan.source != Source::command_line;
  if (is_open && parallel.devices > 1 && (asks || takes_ranks)) {
    parallel.plan.name = "data";
    reader.set_origin("parallel.plan", {.source = Source::command_line});
  }
}

}  // namespace troika::config
