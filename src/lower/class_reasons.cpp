#include "lower/class_reasons.h"

#include "lower/change.h"
#include "lower/cut_request.h"
#include "lower/device_comparison.h"
#include "lower/device_emitter.h"

namespace troika {
namespace {

/// Devices of different classes differ in something; what they have themselves says more than who
/// their partners are, since a difference of partners follows from a difference that another device
/// has itself.
std::string find_difference(const DevicePair& pair, AspectTable& aspects) {
  if (Difference found = compare_hardware(pair)) return *found;
  if (Difference found = compare_tiles(pair)) return *found;
  if (Difference found = compare_moves(pair, aspects)) return *found;
  if (Difference found = compare_shares(pair)) return *found;
  if (Difference found = compare_nodes(pair)) return *found;
  if (Difference found = compare_links(pair)) return *found;
  if (Difference found = compare_partners(pair)) return *found;
  if (Difference found = compare_neighbours(pair)) return *found;
  return pair.plan.request.machine->links.empty() ? "its partners differ"
                                                  : "what crosses its links differs";
}

std::int64_t count_tasks(const ProgramPlan& plan, MovementTable& movements, std::int32_t device) {
  DeviceEmitter emitter(plan, movements, device);
  std::int64_t tasks = 0;
  for (const Fragment& fragment : emit_all(emitter, plan)) tasks += std::ssize(fragment.tasks);
  return tasks;
}

}  // namespace

std::vector<ExplainedClass> explain_classes(const LowerRequest& model) {
  CutRequest cut(model);
  const LowerRequest& request = cut.request;
  PlanTables tables(*request.graph, *request.machine);
  ProgramPlan plan{request, tables, distribute(request, tables)};
  plan.updates = plan_updates(request, plan.distribution, tables);
  // Classes do not depend on kernels, so any will do.
  plan.units = plain_units(plan.unit_request(), tables.regions);
  settle(plan);
  LinkCosts links = links_of(request);
  Network network(*request.machine, links);
  AspectTable aspects(network);
  Classes classes = find_partition(plan, aspects).devices;
  MovementTable movements(*request.machine);
  std::vector<ExplainedClass> explained(as_index(classes.count()));
  for (std::size_t at = 0; at < explained.size(); ++at) {
    explained[at].tasks = count_tasks(plan, movements, classes.first[at]);
    if (at > 0)
      explained[at].difference =
          find_difference({plan, classes, classes.first[at - 1], classes.first[at]}, aspects);
  }
  for (std::size_t device = 0; device < classes.of_device.size(); ++device)
    explained[as_index(classes.of_device[device])].devices.push_back(
        static_cast<std::int32_t>(device));
  return explained;
}

}  // namespace troika
