// Delta simulation gives what full simulation gives, every start and end, after random moves.
#include "sim/delta_simulation.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/testing/test_effort.h"
#include "lower/testing/lowered.h"
#include "lower/testing/random_moves.h"
#include "machine/cluster.h"
#include "strategy/ready.h"
#include "zoo/testing/small_models.h"

namespace troika {
namespace {

struct WalkCase {
  std::string model;
  std::int64_t devices = 4;
  std::int64_t nodes = 1;
  std::uint64_t moves = 40;
  bool is_small = true;
  std::uint64_t first_move = 0;
};

/// Kernels of different times, so that devices do not all end at once.
KernelTable with_times(const std::vector<KernelRequest>& rows, const FakeKernels& kernels,
                       KernelTable table) {
  for (const KernelRequest& row : rows) {
    FakeKernels timed = kernels;
    table = timed.answer({row}, std::move(table));
  }
  return table;
}

/// A plan that changes and is simulated from scratch and by delta.
class Walk {
 public:
  explicit Walk(const WalkCase& asked) : asked_(asked) {
    zoo::ModelRequest request =
        asked.is_small ? zoo::small_request(asked.model) : zoo::ModelRequest{.name = asked.model};
    request.samples.batch = std::max<std::int64_t>(8, asked.devices);
    model_.graph = zoo::build(request).train();
    std::int64_t inside = asked.devices / asked.nodes;
    model_.machine =
        make_machine({.nodes = {{.count = asked.nodes, .devices = inside, .ranks = inside}}});
    model_.strategy = data_parallel(model_.graph, model_.machine);
    model_.optimizer.rules.clear();
    for (const Parameter& parameter : model_.graph.parameters)
      if (parameter.trained && !parameter.state)
        model_.optimizer.rules.emplace(parameter.name, Sgd{.momentum = 0.9});
    request_ = model_.request();
    request_.outputs.clear();
    planner_.emplace(request_, table_);
    while (std::optional<PlanRefusal> refusal = planner_->plan()) add_rows(*refusal);
    moves_.emplace(model_.graph, model_.machine);
    expect_equal();
  }

  /// Every second one is taken back.
  void move(std::uint64_t number) {
    SCOPED_TRACE(fmt::format("{} on {}, move {}", asked_.model, asked_.devices, number));
    std::vector<SplitChange> changes = moves_->draw(number);
    while (std::optional<PlanRefusal> refusal = planner_->change(changes)) {
      if (std::holds_alternative<Infeasible>(*refusal)) return;
      add_rows(*refusal);
    }
    expect_equal();
    if (number % 2 == 0) return;
    planner_->undo();
    delta_.undo();
    expect_loop(simulate_loop(planner_->graph()));
  }

 private:
  void add_rows(const PlanRefusal& refusal) {
    table_ = with_times(std::get<MissingRows>(refusal).rows, model_.kernels, table_);
  }

  void expect_equal() {
    LoopPeriod period = delta_.simulate(planner_->graph());
    EXPECT_EQ(period, find_period(loop_body(planner_->graph())));
    expect_loop(simulate_loop(planner_->graph()));
  }

  void expect_loop(const SteadyLoop& full) {
    SteadyLoop own = delta_.loop();
    EXPECT_EQ(own.period, full.period);
    EXPECT_EQ(own.repeats, full.repeats);
    ASSERT_EQ(own.pass.spans, full.pass.spans);
  }

  WalkCase asked_;
  Lowered model_;
  LowerRequest request_;
  KernelTable table_;
  std::optional<Planner> planner_;
  std::optional<RandomMoves> moves_;
  DeltaSimulation delta_;
};

void expect_exact(const WalkCase& asked) {
  Walk walk(asked);
  for (std::uint64_t number = 0; number < asked.moves; ++number) {
    walk.move(asked.first_move + number);
    if (testing::Test::HasFailure()) return;
  }
}

constexpr const char* kModels[] = {"alexnet", "inception_v3", "resnet101", "nmt", "gpt2"};

TEST(DeltaSimulation, EqualsFullSimulationAfterRandomMoves) {
  for (const char* model : kModels) {
    expect_exact({.model = model, .devices = 4});
    expect_exact({.model = model, .devices = 8, .nodes = 2});
  }
}

TEST(DeltaSimulation, EqualsFullSimulationAfterThousandsOfMoves) {
  if (!full_grid()) GTEST_SKIP() << "runs in make test-all";
  for (const char* model : kModels) {
    expect_exact({.model = model, .devices = 4, .moves = 10'000, .is_small = false});
    expect_exact({.model = model, .devices = 16, .nodes = 4, .moves = 2'000, .is_small = false});
    expect_exact({.model = model, .devices = 64, .nodes = 8, .moves = 300, .is_small = false});
  }
}

}  // namespace
}  // namespace troika
