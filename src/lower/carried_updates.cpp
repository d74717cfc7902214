#include "lower/carried_updates.h"

#include "lower/cut_request.h"
#include "lower/update_moments.h"

namespace troika {

std::vector<CarriedUpdate> carried_updates(const LowerRequest& model) {
  CutRequest cut(model);
  const LowerRequest& request = cut.request;
  PlanTables tables(*request.graph, *request.machine);
  ProgramPlan plan{request, tables, distribute(request, tables)};
  plan.updates = plan_updates(request, plan.distribution, tables);
  std::vector<CarriedUpdate> carried;
  for (const UpdatePlan& update : plan.updates)
    carried.push_back({request.graph->parameters[as_index(update.parameter)].name,
                       why_not_carried(plan, update)});
  return carried;
}

}  // namespace troika
