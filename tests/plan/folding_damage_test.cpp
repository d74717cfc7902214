// Faults that folding could have, each made on purpose. Every test names the check that notices it:
// one that always runs (binding compares each device with the one that was planned, the verifier),
// or the oracle of folding_test.cpp.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "lower/bind.h"
#include "lower/planner.h"
#include "lower/testing/graph_facts.h"
#include "lower/testing/lowered.h"
#include "strategy/ready.h"
#include "taskgraph/verify.h"

namespace troika {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// An image whose rows are dealt out: each device needs rows of its neighbours.
constexpr const char* kRows = R"(graph rows
input x f32[2,3,16,4]
input target i32[2]
input weight f32[2]
parameter conv.weight f32[3,3,3,3] uniform 0.5
parameter more.weight f32[3,3,3,3] uniform 0.5
parameter fc.weight f32[3,3] uniform 0.5
operator conv conv2d{out=3,kernel=[3,3],pad=[1,1],pad_end=[1,1]} (x) [conv.weight] -> conv
operator more conv2d{out=3,kernel=[3,3],pad=[1,1],pad_end=[1,1]} (conv) [more.weight] -> more
operator pool global_pool{} (more) [] -> pool
operator fc linear{out=3} (pool) [fc.weight] -> logits
operator loss cross_entropy{} (logits target weight) [] -> loss_sum weight_sum
output logits logits
loss loss_sum weight_sum
)";

std::vector<std::int32_t> all_devices(const Machine& machine) {
  std::vector<std::int32_t> all(machine.devices.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// Classes by what they are said to be, numbered by their first devices.
Classes classes_from(const std::vector<std::int32_t>& labels) {
  Classes made;
  std::vector<std::int32_t> known;
  for (std::size_t device = 0; device < labels.size(); ++device) {
    auto found = std::ranges::find(known, labels[device]);
    made.of_device.push_back(static_cast<std::int32_t>(found - known.begin()));
    if (found == known.end()) {
      known.push_back(labels[device]);
      made.first.push_back(static_cast<std::int32_t>(device));
      made.size.push_back(0);
    }
    ++made.size[as_index(made.of_device.back())];
  }
  return made;
}

/// A plan with what is needed to fold it again.
struct Planned : Lowered {
  void plan() {
    asked = request();
    asked.outputs.clear();
    table = kernels.answer(rows_needed(asked));
    planner.emplace(asked, table);
    while (std::optional<PlanRefusal> refusal = planner->plan())
      table = kernels.answer(std::get<MissingRows>(*refusal).rows, table);
  }

  /// What binding says about a partition; empty if it accepts it.
  std::string fault_of(const std::vector<std::int32_t>& labels) {
    Folding damaged(planner->program(), table, classes_from(labels));
    damaged.fold();
    try {
      (void)bind_devices(damaged, all_devices(machine), table);
    } catch (const Bug& bug) {
      return bug.what();
    }
    return "";
  }

  const Classes& classes() const { return planner->graph().classes; }

  LowerRequest asked;
  KernelTable table;
  std::optional<Planner> planner;
};

/// Eight devices, each with two rows of the image, and one for what follows.
struct RowOfDevices : Planned {
  RowOfDevices() {
    graph = parse_graph(kRows);
    machine.devices.resize(9);
    optimizer.rules = {{"conv.weight", Sgd{}}, {"more.weight", Sgd{}}, {"fc.weight", Sgd{}}};
    for (const Operator& op : graph.operators) {
      bool dealt_out = std::holds_alternative<Conv2d>(op.op);
      strategy.splits[op.name] =
          dealt_out ? Split{.factors = {{.axis = "h", .degree = 8}}} : Split{.first = 8};
    }
    plan();
  }
};

/// The small model on two devices, where updates run beside the next step.
struct CarriedUpdates : Planned {
  CarriedUpdates() {
    machine.devices.resize(2);
    strategy = data_parallel(graph, machine);
    strategy.sync.bucket = {1};
    plan();
  }
};

TEST(FoldingDamage, NothingDamagedIsNothingNoticed) {
  RowOfDevices row;
  EXPECT_THAT(row.classes().of_device, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_EQ(row.fault_of({0, 1, 2, 3, 4, 5, 6, 7, 8}), "");
  CarriedUpdates equal;
  EXPECT_EQ(equal.fault_of({0, 0}), "");
}

TEST(FoldingDamage, BindingRefusesABorderDeviceThatIsFoldedWithAnInnerOne) {
  RowOfDevices row;
  // Device 0 has padding where device 1 has a neighbour, so they have other kernels and messages.
  EXPECT_THAT(row.fault_of({0, 0, 2, 3, 4, 5, 6, 7, 8}),
              HasSubstr("devices 0 and 1 are of one class, but have other"));
  EXPECT_THAT(row.fault_of({0, 1, 2, 3, 4, 5, 6, 6, 8}),
              HasSubstr("devices 6 and 7 are of one class, but have other"));
}

/// Devices 3 and 4 do the same but for their partners: the messages that they start are named after
/// members of other classes.
TEST(FoldingDamage, BindingRefusesClassesThatLackTheLastRefinement) {
  RowOfDevices row;
  RefinementFacts facts = facts_of(row.machine, row.run(row.asked));
  ASSERT_EQ(first_difference(facts, 3, 4), "");
  EXPECT_THAT(row.fault_of({0, 1, 2, 3, 3, 5, 6, 7, 8}),
              HasSubstr("devices 3 and 4 are of one class, but have other tasks"));
}

TEST(FoldingDamage, BindingRefusesClassesThatLackAllRefinements) {
  RowOfDevices row;
  EXPECT_THAT(row.fault_of({0, 1, 1, 1, 1, 1, 1, 7, 8}),
              HasSubstr("are of one class, but have other tasks"));
}

/// Two devices compute the same value, and two others read it.
struct TwoHolders : Planned {
  TwoHolders() {
    machine.devices.resize(4);
    for (const Operator& op : graph.operators) {
      bool first = op.name == "a" || op.name == "a.bias";
      strategy.splits[op.name] = {.factors = {{.axis = "", .degree = 2, .stride = 1}},
                                  .first = first ? 0 : 2};
    }
    plan();
  }
};

/// Has the first device send what the second one sends.
int serve_all_from_first(TaskGraph& graph) {
  int changed = 0;
  for (std::size_t at = 0; at < graph.communications.size(); ++at) {
    Communication& call = graph.communications[at];
    if (call.call.kind != Collective::broadcast || call.devices[0] != DeviceId(std::size_t{1}))
      continue;
    ++changed;
    call.devices[0] = DeviceId(std::size_t{0});
    for (Task& task : graph.tasks)
      if (task.communication == CommunicationId(at) && task.member == 0)
        task.device = DeviceId(std::size_t{0});
  }
  return changed;
}

TEST(FoldingDamage, TheOracleNoticesATieThatIsBrokenByDeviceNumber) {
  TwoHolders holders;
  TaskGraph graph = holders.run(holders.asked);
  EXPECT_THAT(holders.classes().of_device, ElementsAre(0, 0, 1, 1));
  auto classes = [&] {
    return refine_naively(holders.machine, facts_of(holders.machine, graph)).of_device;
  };
  EXPECT_THAT(classes(), ElementsAre(0, 0, 1, 1));
  ASSERT_GT(serve_all_from_first(graph), 0);
  EXPECT_THAT(classes(), ElementsAre(0, 1, 2, 3)) << "finer than what is folded";
}

/// What the verifier says if one task has another lag.
std::string fault_with_lag(TaskGraph graph, std::size_t task, int lag) {
  graph.tasks[task].lag = lag;
  try {
    graph.dependencies = find_dependencies(graph);
    verify(graph, Stage::placed);
  } catch (const Bug& bug) {
    return bug.what();
  }
  return "";
}

TEST(FoldingDamage, TheVerifierNoticesEveryWrongLag) {
  CarriedUpdates carried;
  TaskGraph graph = carried.run(carried.asked);
  int late = 0, early = 0;
  for (std::size_t at = 0; at < graph.tasks.size(); ++at) {
    const Task& task = graph.tasks[at];
    ++(task.lag == 1 ? late : early);
    EXPECT_NE(fault_with_lag(graph, at, 1 - task.lag), "")
        << fmt::format("{} on device {} with lag {}", task.name, task.device.value, 1 - task.lag);
  }
  EXPECT_GT(late, 0);
  EXPECT_GT(early, 0);
  EXPECT_EQ(fault_with_lag(graph, 0, graph.tasks[0].lag), "");
}

TEST(FoldingDamage, BindingRefusesADeviceOneOfWhoseTasksHasAnotherLag) {
  CarriedUpdates carried;
  ASSERT_THAT(carried.classes().of_device, ElementsAre(0, 0));
  Folding& folding = carried.planner->folding();
  DeviceEmitter emitter(carried.planner->program(), folding.movements(), 1);
  std::vector<Fragment> fragments = emit_all(emitter, carried.planner->program());
  EXPECT_EQ(folding.why_not_alike(1, fragments), std::nullopt);
  for (Fragment& fragment : fragments) {
    for (PlannedTask& task : fragment.tasks) {
      auto lag = std::exchange(task.lag, static_cast<std::int16_t>(1 - task.lag));
      EXPECT_THAT(folding.why_not_alike(1, fragments).value_or(""), HasSubstr("have other tasks"));
      task.lag = lag;
    }
  }
}

}  // namespace
}  // namespace troika
