// Delta simulation gives what full simulation gives, every start and end, after random moves.
#include "sim/delta_simulation.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

#include "base/testing/test_effort.h"
#include "lower/testing/random_walk.h"
#include "machine/cluster.h"
#include "strategy/ready.h"
#include "zoo/testing/small_models.h"

namespace troika {
namespace {

struct WalkCase {
  std::string model;
  std::int64_t devices = 4;
  std::int64_t nodes = 1;
  std::uint64_t moves = 50;
  bool is_small = true;
  std::uint64_t first_move = 0;
};

Lowered first_plan(const WalkCase& asked) {
  Lowered model;
  zoo::ModelRequest request =
      asked.is_small ? zoo::small_request(asked.model) : zoo::ModelRequest{.name = asked.model};
  request.samples.batch = std::max<std::int64_t>(8, asked.devices);
  model.graph = zoo::build(request).train();
  std::int64_t inside = asked.devices / asked.nodes;
  model.machine =
      make_machine({.nodes = {{.count = asked.nodes, .devices = inside, .ranks = inside}}});
  model.strategy = data_parallel(model.graph, model.machine);
  return model;
}

/// A plan that changes and is simulated from scratch and by delta.
class Walk {
 public:
  explicit Walk(const WalkCase& asked) : asked_(asked), walk_(first_plan(asked)) { expect_equal(); }

  /// Every second one is taken back.
  void move(std::uint64_t number) {
    SCOPED_TRACE(fmt::format("{} on {}, move {}", asked_.model, asked_.devices, number));
    if (!walk_.change(walk_.draw(number))) return;
    ++accepted_;
    expect_equal();
    if (number % 2 == 0) return;
    walk_.planner().undo();
    delta_.undo();
    expect_loop(simulate_loop(walk_.graph()));
  }

  std::uint64_t accepted() const { return accepted_; }

 private:
  void expect_equal() {
    LoopPeriod period = delta_.simulate(walk_.graph());
    EXPECT_EQ(period, find_period(loop_body(walk_.graph())));
    expect_loop(simulate_loop(walk_.graph()));
  }

  void expect_loop(const SteadyLoop& full) {
    SteadyLoop own = delta_.loop();
    EXPECT_EQ(own.period, full.period);
    EXPECT_EQ(own.repeats, full.repeats);
    ASSERT_EQ(own.pass.spans, full.pass.spans);
  }

  WalkCase asked_;
  RandomWalk walk_;
  DeltaSimulation delta_;
  std::uint64_t accepted_ = 0;
};

void expect_exact(const WalkCase& asked) {
  Walk walk(asked);
  for (std::uint64_t number = 0; number < asked.moves; ++number) {
    walk.move(asked.first_move + number);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GE(walk.accepted(), asked.moves * 3 / 4) << asked.model << " on " << asked.devices;
}

constexpr std::array<const char*, 5> kModels = {"alexnet", "inception_v3", "resnet101", "nmt", "gpt2"};

class DeltaSimulationOf : public testing::TestWithParam<const char*> {};

TEST_P(DeltaSimulationOf, EqualsFullSimulationOnFourDevices) {
  expect_exact({.model = GetParam(), .devices = 4});
}
TEST_P(DeltaSimulationOf, EqualsFullSimulationOnNodesOfFourDevices) {
  expect_exact({.model = GetParam(), .devices = 16, .nodes = 4});
}
/// Deep models take seconds for a few moves there.
TEST_P(DeltaSimulationOf, EqualsFullSimulationOnNodesOfEightDevices) {
  bool is_deep = std::string_view(GetParam()) != "alexnet" && std::string_view(GetParam()) != "nmt";
  expect_exact({.model = GetParam(), .devices = 64, .nodes = 8, .moves = is_deep ? 12u : 50u});
}

INSTANTIATE_TEST_SUITE_P(Models, DeltaSimulationOf, testing::ValuesIn(kModels),
                         [](const auto& row) { return std::string(row.param); });

/// The moves of a long walk, in parts that can run at the same time.
std::vector<WalkCase> long_walks() {
  std::vector<WalkCase> cases;
  for (const char* model : kModels) {
    for (std::uint64_t part = 0; part < 10; ++part) {
      auto add = [&](std::int64_t devices, std::int64_t nodes, std::uint64_t moves) {
        cases.push_back({model, devices, nodes, moves, false, part * moves});
      };
      add(4, 1, 1'000);
      add(16, 4, 200);
      add(64, 8, 30);
    }
  }
  return cases;
}

class LongWalks : public testing::TestWithParam<WalkCase> {};

TEST_P(LongWalks, EqualFullSimulation) {
  if (!full_grid()) GTEST_SKIP() << "runs in make test-all";
  expect_exact(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Models, LongWalks,
                         testing::ValuesIn(full_grid() ? long_walks() : std::vector<WalkCase>(1)),
                         [](const auto& row) {
                           return fmt::format("{}_on_{}_from_{}", row.param.model,
                                              row.param.devices, row.param.first_move);
                         });

}  // namespace
}  // namespace troika
