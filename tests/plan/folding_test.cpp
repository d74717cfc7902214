// One device stands for all that do the same: the classes that lowering finds before any task
// exists are those of the task graph of all devices.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lower/decide.h"
#include "lower/plan_classes.h"
#include "lower/testing/graph_facts.h"
#include "lower/testing/lowered.h"
#include "machine/cluster.h"
#include "strategy/ready.h"
#include "strategy/testing/random_strategy.h"
#include "zoo/testing/small_models.h"

namespace troika {
namespace {

struct FoldingCase {
  std::string model;
  std::int64_t batch = 8;
  Machine machine{};
  bool clips = false, slices = false;
};

struct FoldedModel : Lowered {
  FoldedModel(const FoldingCase& asked, const Graph& built) {
    graph = built;
    machine = asked.machine;
    optimizer.rules.clear();
    for (const Parameter& parameter : graph.parameters)
      if (parameter.trained && !parameter.state)
        optimizer.rules.emplace(parameter.name, Sgd{.momentum = 0.9});
    if (asked.clips) optimizer.clip_norm = 1;
  }

  TaskGraph lower_all(const LowerRequest& request) {
    table = kernels.answer(rows_needed(request));
    LowerResult result = lower(request, table);
    while (auto* missing = std::get_if<MissingRows>(&result)) {
      table = kernels.answer(missing->rows, table);
      result = lower(request, table);
    }
    return std::get<TaskGraph>(std::move(result));
  }

  KernelTable table;
};

enum class Wanted { equal, not_coarser };

void expect_classes(FoldedModel& model, const std::string& what, Wanted wanted) {
  LowerRequest request = model.request();
  request.outputs.clear();
  TaskGraph graph = model.lower_all(request);
  PlanTables tables(*request.graph, *request.machine);
  ProgramPlan plan{request, tables, distribute(request, tables)};
  ASSERT_TRUE(decide(plan, tables, model.table));
  AspectTable aspects(*request.machine);
  Classes found = find_classes(plan, aspects);
  RefinementFacts facts = facts_of(*request.machine, graph);
  Classes defined = refine_naively(*request.machine, facts);
  for (std::size_t device = 0; device < found.of_device.size(); ++device) {
    auto first = as_index(found.first[as_index(found.of_device[device])]);
    EXPECT_EQ(defined.of_device[device], defined.of_device[first])
        << what << ": devices " << device << " and " << first << " are folded\n"
        << first_difference(facts, first, device);
  }
  if (wanted == Wanted::equal) {
    EXPECT_EQ(found.count(), defined.count())
        << what << ": "
        << fmt::format("{}\n{}", fmt::join(found.of_device, " "),
                       fmt::join(defined.of_device, " "));
  }
}

std::vector<Machine> machines(std::size_t devices) {
  std::vector<Machine> all(1);
  all[0].devices.resize(devices);
  auto count = static_cast<std::int64_t>(devices);
  all.push_back(make_machine({.nodes = {{.count = 2, .devices = count / 2, .ranks = count / 2}}}));
  return all;
}

TEST(PlanClasses, AreThoseOfTheTaskGraph) {
  for (const zoo::Entry& entry : zoo::entries()) {
    for (std::size_t devices : {2, 4, 8}) {
      for (const Machine& machine : machines(devices)) {
        for (std::int64_t batch : {16, 17}) {
          zoo::ModelRequest asked = zoo::small_request(entry.name);
          asked.samples.batch = batch;
          for (const zoo::NamedGraph& named : zoo::build(asked).graphs) {
            if (!named.graph.loss) continue;
            for (std::string_view ready : ready_names()) {
              FoldedModel model({.model = entry.name, .machine = machine, .clips = batch == 17},
                                named.graph);
              model.strategy = ready_strategy(ready, model.graph, machine);
              model.strategy.sync.sliced_update = batch == 17;
              if (why_infeasible(model.strategy, model.graph, machine)) continue;
              expect_classes(model,
                             fmt::format("{} {} on {} of {} nodes, batch {}", entry.name, ready,
                                         devices, node_count(machine), batch),
                             Wanted::equal);
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace troika
