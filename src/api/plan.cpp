#include "api/plan.h"

#include <fmt/format.h>

#include "base/error.h"
#include "setup/choose_strategy.h"
#include "setup/hosts.h"
#include "setup/known_links.h"
#include "strategy/ready.h"

namespace troika::internal {
namespace {

void require_in_range(std::int64_t devices) {
  if (devices >= 1 && devices <= kMostLocalDevices) return;
  throw Error(ErrorKind::usage,
              fmt::format("MachineOptions: 'devices' must be from 1 to {}, not {}",
                          kMostLocalDevices, devices));
}

Machine machine_of(std::int64_t devices) {
  require_in_range(devices);
  return {std::vector<DeviceSpec>(static_cast<std::size_t>(devices), DeviceSpec{.kind = "cpu"})};
}

void require_devices(const PlanConfig& plan, std::int64_t devices) {
  // Both factors are ints in the public interface, so the product cannot overflow.
  if (plan.data >= 1 && plan.tensor >= 1 && plan.data * plan.tensor <= devices) return;
  throw Error(ErrorKind::usage,
              fmt::format("the plan {{ data = {}, tensor = {} }} does not fit a machine of {} "
                          "device{}; choose degrees of at least 1 whose product is at most that",
                          plan.data, plan.tensor, devices, devices == 1 ? "" : "s"));
}

}  // namespace

std::string single_plan() { return to_json(Strategy::single()); }

std::string normal_plan(const std::string& text) { return to_json(parse_strategy(text)); }

std::string plan_of_file(const std::string& path) { return to_json(load_strategy(path)); }

std::string ready_plan(const PlanConfig& plan, const zoo::Model& model, std::int64_t devices) {
  Machine machine = machine_of(devices);
  LinkCosts links = known_link_costs(default_links_file());
  Machine linked = with_slowest_link(machine, links);  // what ready plans weigh
  if (plan.name.empty()) require_devices(plan, devices);
  Strategy all;
  // Graphs of one model share operators by name; each brings those that the others lack.
  for (const zoo::NamedGraph& named : model.graphs) {
    Strategy own = plan.name.empty()
                       ? mixed_parallel(named.graph, {.data = plan.data, .tensor = plan.tensor})
                       : ready_strategy(plan.name, named.graph, linked);
    all.splits.merge(own.splits);
  }
  if (auto reason = why_infeasible(restricted(all, model.train()), model.train(), machine))
    throw Error(ErrorKind::usage, *reason);
  return to_json(all, model.train(), machine);
}

int threads_of_device(int devices) {
  require_in_range(devices);
  return meet_hosts(sole_rank(), devices).threads;
}

}  // namespace troika::internal
