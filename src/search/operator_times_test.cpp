#include "search/operator_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/layers_recurrent.h"
#include "lower/testing/lowered.h"
#include "sim/simulate.h"
#include "strategy/ready.h"

namespace troika {
namespace {

/// A plan of a model whose kernels all take 1 us.
struct Simulated {
  explicit Simulated(Lowered& model) : Simulated(model, model.run()) {}
  Simulated(Lowered& model, TaskGraph lowered)
      : graph(std::move(lowered)), owners(model.graph, model.strategy) {
    SteadyLoop loop = simulate_loop(graph);
    pass = pass_of(graph, loop.pass, loop.period, messages_of(graph));
    times = operator_times(graph, pass, owners, model.graph.operators.size());
  }

  TaskGraph graph;
  TaskOwners owners;
  LoopPass pass;
  std::vector<DeviceTimes> times;
};

/// Data parallelism on two nodes that are joined by a slow network.
struct OnSlowNodes : OnDevices {
  OnSlowNodes() : OnDevices(2, data_parallel) {
    for (std::int32_t at : {0, 1}) machine.devices[as_index(at)].node = at;
    for (std::int32_t at : {0, 1}) machine.devices[as_index(at)].rank = at;
    machine.moves_beside = true;
    links.network.beta = 1e4;
    strategy.sync.bucket = Bytes{1};
  }
  Simulated simulated() {
    LowerRequest asked = request();
    asked.links = &links;
    return {*this, run(asked)};
  }

  LinkCosts links = assumed_link_costs();
};

SimTime time_in(const DeviceTime& device, TimeUse use) {
  SimTime sum;
  for (const TimeShare& share : device.shares)
    if (share.use == use) sum += share.time;
  return sum;
}

class OperatorTimes : public testing::TestWithParam<const char*> {};

TEST_P(OperatorTimes, AddUpToTheTimeOfTheDeviceByUse) {
  OnDevices model(4, [](const Graph& graph, const Machine& machine) {
    return ready_strategy(GetParam(), graph, machine);
  });
  Simulated made(model);
  std::vector<DeviceTime> used = time_use(made.graph, made.pass);
  ASSERT_EQ(made.times.size(), used.size());
  for (std::size_t row = 0; row < used.size(); ++row) {
    OperatorTime sum = made.times[row].sum();
    EXPECT_EQ(sum.total(), used[row].whole);
    EXPECT_EQ(sum.kernels(), used[row].busy());
    EXPECT_EQ(sum.messages,
              time_in(used[row], TimeUse::message) + time_in(used[row], TimeUse::moving));
  }
}

INSTANTIATE_TEST_SUITE_P(Ready, OperatorTimes,
                         testing::Values("single", "data", "tensor", "placed"));

TEST(OperatorTimes, AreThoseOfItsPhasesAndUpdates) {
  Lowered model;
  Simulated made(model);
  const DeviceTimes& device = made.times.front();
  // The gradient of x is not needed.
  SimTime kernel = SimTime{1000} + made.graph.runtime.task;
  EXPECT_EQ(device.of_operator[0].kernels(), kernel * 3);  // a
  EXPECT_EQ(device.of_operator[0].forward, kernel);
  EXPECT_EQ(device.of_operator[0].update, kernel);
  EXPECT_EQ(device.of_operator[4].backward, kernel * 2);  // b
  EXPECT_EQ(device.of_operator[4].update, kernel);
}

TEST(OperatorTimes, CountTheWaitForAGradientForTheLayerThatItUpdates) {
  OnSlowNodes model;
  Simulated made = model.simulated();
  for (const DeviceTimes& device : made.times) {
    SimTime layers = device.of_operator[0].messages + device.of_operator[1].messages +
                     device.of_operator[4].messages;
    EXPECT_GT(layers, SimTime{100'000});
    EXPECT_LT(device.of_operator[2].messages, SimTime{1000});  // relu waits for nothing
  }
}

TEST(OperatorTimes, CountChunksOfACutLayerForTheLayer) {
  Lowered model;
  model.graph = parse_graph(R"(graph cut
input x f32[2,4,3]
parameter l.w_ih f32[4,3,3] uniform 0.5
parameter l.w_hh f32[4,3,3] uniform 0.5
parameter l.bias f32[4,3] zeros
operator l recurrent{kind=lstm,hidden=3} (x) [l.w_ih l.w_hh l.bias] -> y h c
operator r activation{} (y) [] -> r
output r r
)");
  model.strategy.splits["l"] = {.chunks = 2};
  LowerRequest asked = model.request();
  asked.optimizer = nullptr;
  asked.outputs = {"r"};
  Simulated made(model, model.run(asked));
  const DeviceTimes& device = made.times.front();
  ASSERT_EQ(device.of_operator.size(), 2u);
  EXPECT_GT(device.of_operator[0].forward, SimTime{2000});  // a projection and two chunks at least
  SimTime kernel = SimTime{1000} + made.graph.runtime.task;
  EXPECT_EQ(device.of_operator[1].kernels(), kernel);
}

TEST(PathShares, AddUpToThePeriodAndNameWhatIsLong) {
  OnSlowNodes model;
  Simulated made = model.simulated();
  std::vector<PathShare> shares = path_shares(made.graph, made.pass, made.owners);
  SimTime sum;
  for (const PathShare& share : shares) {
    SimTime parts;
    for (const PathShare::Part& part : share.parts) parts += part.time;
    EXPECT_EQ(parts, share.time);
    sum += share.time;
  }
  EXPECT_EQ(sum, made.pass.period);
  ASSERT_FALSE(shares.empty());
  EXPECT_EQ(shares.front().sort, PathSort::gradient_sum);
  EXPECT_GE(shares.front().parts.front().op, 0);
}

}  // namespace
}  // namespace troika
