#include "setup/predicted_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "lower/testing/contended_machines.h"
#include "lower/testing/lowered.h"
#include "strategy/ready.h"
#include "taskgraph/time_use.h"

namespace troika {
namespace {

/// The made-up kernels of a model, one row at a time.
KernelAnswer answers_of(const Lowered& model) {
  return [&model](const std::vector<KernelRequest>& rows) {
    KernelTable table = model.kernels.answer(rows);
    std::vector<std::vector<Candidate>> answers;
    for (const KernelRequest& row : rows) answers.push_back(*table.find(row.kind, row.key));
    return answers;
  };
}

PredictedProgram predict(const Lowered& model, const LowerRequest& request,
                         const PlanPredictionOptions& options = {}) {
  KernelTable table;
  return predict_program(request, answers_of(model), table, options);
}

class PredictedPlans : public testing::TestWithParam<const char*> {};

TEST_P(PredictedPlans, FromOneDeviceOfEachClassAreThoseOfAllDevices) {
  OnDevices model(4, [](const Graph& graph, const Machine& machine) {
    return ready_strategy(GetParam(), graph, machine);
  });
  LowerRequest request = model.request();
  request.outputs.clear();
  TaskGraph all = model.run(request);
  SteadyLoop loop = simulate_loop(all);
  PredictedProgram made = predict(model, request);
  EXPECT_EQ(made.time, loop.period);
  EXPECT_EQ(made.bounds, work_depth(all));
  EXPECT_GE(made.time * 4, made.bounds.work);
  EXPECT_EQ(heaviest_cycle(made.folded, made.graph), heaviest_cycle(all));
  EXPECT_GE(made.time, heaviest_cycle(all));

  LoopPass pass = pass_of(all, loop.pass, loop.period, messages_of(all));
  std::vector<DeviceTime> expected = time_use(all, pass), used = time_use(made.graph, made.pass);
  ASSERT_EQ(used.size(), made.folded.classes.first.size());
  for (const DeviceTime& device : used) {
    EXPECT_EQ(device.whole, made.time);
    EXPECT_EQ(device, expected.at(device.device.index()));
  }
}

INSTANTIATE_TEST_SUITE_P(Ready, PredictedPlans,
                         testing::Values("single", "data", "tensor", "placed"));

TEST(PredictedPlan, StepsThatTakeTurnsBeginFromRest) {
  OnDevices model(2, data_parallel);
  LowerRequest request = model.request();
  request.outputs.clear();
  PredictedProgram alone = predict(model, request),
                   turns = predict(model, request, {.is_alone = false});
  TaskGraph graph = model.run(request);
  EXPECT_EQ(turns.time, simulate(graph).length() + graph.runtime.longest_rest());
  EXPECT_TRUE(turns.pass.is_one_step);
  EXPECT_FALSE(alone.pass.is_one_step);
}

// A machine that lists its links has faster ones than the formulas of communications assume.
TEST(PredictedPlan, IsNeverShorterThanItsDepthOnLinksOfManySpeeds) {
  LinkCosts slow = assumed_link_costs();
  slow.network.alpha *= 100;
  slow.network.beta *= 100;
  for (const Machine& machine : contended_machines(6)) {
    for (const char* plan : {"data", "placed"}) {
      Lowered model;
      model.machine = machine;
      model.strategy = ready_strategy(plan, model.graph, model.machine);
      LowerRequest request = model.request();
      request.outputs.clear();
      request.links = &slow;
      EXPECT_GE(predict(model, request, {.is_alone = false}).time.count, 0) << plan;
    }
  }
}

TEST(PredictedPlan, HasTheTasksOfFurtherDevices) {
  OnDevices model(4, data_parallel);
  LowerRequest request = model.request();
  request.outputs.clear();
  EXPECT_EQ(predict(model, request).graph.devices.size(), 1u);
  PredictedProgram made = predict(model, request, {.also = {DeviceId(3u), DeviceId(0u)}});
  EXPECT_THAT(made.graph.devices, testing::ElementsAre(DeviceId(0u), DeviceId(3u)));
  EXPECT_EQ(made.pass.rows.size(), 1u);
}

TEST(PredictedPlan, ThatIsInfeasibleIsRefusedWithTheReason) {
  Lowered model;
  model.strategy.splits["a"] = {.factors = {{"n", 3}}, .first = 5};
  KernelTable table;
  LowerRequest request = model.request();
  EXPECT_THROW(predict_program(request, answers_of(model), table), Error);
}

}  // namespace
}  // namespace troika
