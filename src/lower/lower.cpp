#include "lower/lower.h"

#include <numeric>

#include "lower/bind.h"
#include "lower/choose_algorithms.h"
#include "lower/place_buffers.h"
#include "lower/plan_hash.h"
#include "lower/planner.h"
#include "lower/state_entries.h"
#include "taskgraph/verify.h"

namespace troika {
namespace {

std::vector<std::int32_t> devices_of(const LowerRequest& request) {
  std::vector<std::int32_t> devices;
  for (DeviceId device : request.devices) devices.push_back(device.value);
  if (!devices.empty()) return devices;
  devices.resize(request.machine->devices.size());
  std::iota(devices.begin(), devices.end(), 0);
  return devices;
}

/// What is decided for each communication and buffer by itself.
void finish(TaskGraph& tasks, const ProgramPlan& plan, const KernelTable& table) {
  const LowerRequest& request = plan.request;
  LinkCosts links = links_of(request);
  choose_algorithms(tasks, {*request.machine, links, request.strategy->sync});
  verify(tasks, Stage::chosen);
  place_buffers(tasks, *request.machine, table);
  tasks.dependencies = find_dependencies(tasks);
  verify(tasks, Stage::placed);
}

}  // namespace

LowerResult lower(const LowerRequest& request, const KernelTable& table) {
  Planner planner(request, table);
  if (std::optional<PlanRefusal> refusal = planner.plan())
    return std::visit([](auto& reason) -> LowerResult { return std::move(reason); }, *refusal);
  const ProgramPlan& plan = planner.program();
  TaskGraph tasks = bind_devices(planner.folding(), devices_of(request), table);
  tasks.storage = state_entries(plan);
  tasks.plan_hash = hash(plan);
  finish(tasks, plan, table);
  return tasks;
}

}  // namespace troika
