// Plans whose recurrent layers are cut over time follow changes of the model's splits.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/test_effort.h"
#include "lower/plan_hash.h"
#include "lower/planner.h"
#include "lower/testing/lowered.h"
#include "strategy/testing/random_strategy.h"
#include "strategy/tiles.h"
#include "zoo/testing/small_models.h"

namespace troika {
namespace {

using testing::Contains;
using testing::HasSubstr;

class CutPlans : public testing::TestWithParam<std::string> {
 protected:
  CutPlans() {
    zoo::ModelRequest request = zoo::small_request(GetParam());
    request.samples.batch = 8;
    model_.graph = zoo::build(request).train();
    model_.machine.devices.assign(4, {.name = "cpu"});
    model_.optimizer.rules.clear();
    for (const Parameter& parameter : model_.graph.parameters)
      model_.optimizer.rules.emplace(parameter.name, Op{Sgd{.momentum = 0.9}});
    model_.strategy = drawn(0);
  }

  Strategy drawn(std::uint64_t seed) const {
    return with_random_cuts(random_view_strategy(model_.graph, model_.machine, seed), model_.graph,
                            model_.machine, seed);
  }

  LowerRequest request() {
    LowerRequest asked = model_.request();
    asked.outputs.clear();
    return asked;
  }

  void add_rows(const PlanRefusal& refusal) {
    const auto* missing = std::get_if<MissingRows>(&refusal);
    ASSERT_NE(missing, nullptr) << std::get<Infeasible>(refusal).reason;
    table_ = model_.kernels.answer(missing->rows, table_);
  }

  void expect_from_scratch(Planner& planner) {
    LowerRequest asked = request();
    Strategy strategy = planner.strategy();
    asked.strategy = &strategy;
    Planner fresh(asked, table_);
    ASSERT_FALSE(fresh.plan().has_value());
    EXPECT_EQ(planner.graph(), fresh.graph());
    EXPECT_EQ(hash(planner.program()), hash(fresh.program()));
  }

  void plan(Planner& planner) {
    while (std::optional<PlanRefusal> refusal = planner.plan()) add_rows(*refusal);
  }

  /// Adds rows until the change is accepted or infeasible.
  std::optional<PlanRefusal> change(Planner& planner, const std::vector<SplitChange>& changes) {
    while (true) {
      std::optional<PlanRefusal> refusal = planner.change(changes);
      if (!refusal || std::holds_alternative<Infeasible>(*refusal)) return refusal;
      add_rows(*refusal);
      plan(planner);
    }
  }

  std::int32_t number_of(const std::string& name) const {
    auto op = std::ranges::find(model_.graph.operators, name, &Operator::name);
    return static_cast<std::int32_t>(op - model_.graph.operators.begin());
  }
  const Operator& first_layer() const {
    return *std::ranges::find_if(model_.graph.operators, [](const Operator& op) {
      return std::holds_alternative<Recurrent>(op.op);
    });
  }

  Lowered model_;
  KernelTable table_;
};

TEST_P(CutPlans, ALayerThatIsNoLongerCutLosesTheSplitOfItsProjection) {
  const std::string& layer = first_layer().name;
  model_.strategy = {.splits = {{layer, {.chunks = 2}}, {projection_name(layer), {.first = 1}}}};
  Planner planner(request(), table_);
  plan(planner);
  FoldedGraph before = planner.graph();
  std::vector<SplitChange> whole{{number_of(layer), {.first = 1}}};
  std::optional<PlanRefusal> refusal = change(planner, whole);
  ASSERT_FALSE(refusal.has_value()) << std::get<Infeasible>(*refusal).reason;
  EXPECT_EQ(planner.strategy().splits, (std::map<std::string, Split>{{layer, {.first = 1}}}));
  expect_from_scratch(planner);
  planner.undo();
  EXPECT_EQ(planner.strategy(), model_.strategy);
  EXPECT_EQ(planner.graph(), before);
}

TEST_P(CutPlans, ChangesEqualPlansFromScratchAndCanBeUndone) {
  Planner planner(request(), table_);
  while (std::optional<PlanRefusal> refusal = planner.plan()) add_rows(*refusal);
  int made = 0;
  std::int64_t operators = std::ssize(model_.graph.operators);
  for (std::int64_t number = 1; number <= (full_grid() ? 200 : 24); ++number) {
    SCOPED_TRACE(number);
    Strategy other = drawn(static_cast<std::uint64_t>(number));
    std::vector<SplitChange> changes;
    for (std::int64_t at = number * 7 % operators; at < operators && changes.size() < 4; ++at)
      changes.push_back({static_cast<std::int32_t>(at),
                         split_of(other, model_.graph.operators[as_index(at)].name)});
    FoldedGraph before = planner.graph();
    Strategy strategy = planner.strategy();
    std::optional<PlanRefusal> refusal = planner.change(changes);
    while (refusal && std::holds_alternative<MissingRows>(*refusal)) {
      EXPECT_EQ(planner.strategy(), strategy);
      add_rows(*refusal);
      while (std::optional<PlanRefusal> again = planner.plan()) add_rows(*again);
      before = planner.graph();
      refusal = planner.change(changes);
    }
    if (!refusal) {
      ++made;
      expect_from_scratch(planner);
      if (number % 3 != 0) continue;
      planner.undo();
    }
    EXPECT_EQ(planner.strategy(), strategy);
    EXPECT_EQ(planner.graph(), before);
  }
  EXPECT_GT(made, 10);
}

TEST_P(CutPlans, RefusedChangesOfChunksKeepThePlanAndWhatCanBeUndone) {
  model_.strategy = {};
  Planner planner(request(), table_);
  while (std::optional<PlanRefusal> refusal = planner.plan()) add_rows(*refusal);
  FoldedGraph first = planner.graph();
  auto layer = std::ranges::find_if(model_.graph.operators, [](const Operator& op) {
    return std::holds_alternative<Recurrent>(op.op);
  });
  auto number = static_cast<std::int32_t>(layer - model_.graph.operators.begin());
  std::vector<SplitChange> moved{{number, {.first = 1}}}, cut{{number, {.chunks = 2}}},
      too_many{{number, {.chunks = 1000}}};
  while (std::optional<PlanRefusal> refusal = planner.change(moved)) {
    add_rows(*refusal);
    while (std::optional<PlanRefusal> again = planner.plan()) add_rows(*again);
  }
  FoldedGraph second = planner.graph();
  std::optional<PlanRefusal> lacks_rows = planner.change(cut);
  ASSERT_TRUE(lacks_rows && std::holds_alternative<MissingRows>(*lacks_rows));
  EXPECT_EQ(planner.graph(), second);
  std::optional<PlanRefusal> infeasible = planner.change(too_many);
  ASSERT_TRUE(infeasible && std::holds_alternative<Infeasible>(*infeasible));
  EXPECT_EQ(planner.graph(), second);
  planner.undo();
  EXPECT_EQ(planner.graph(), first);
}

TEST_P(CutPlans, FoldToTheGraphOfEachDevice) {
  // lower() compares every device that it binds with the one that was planned for it.
  for (std::uint64_t seed = 0; seed < (full_grid() ? 40u : 6u); ++seed) {
    SCOPED_TRACE(seed);
    model_.strategy = drawn(seed);
    TaskGraph tasks = model_.run(request());
    EXPECT_THAT(names(tasks), Contains(HasSubstr(".0/0")));
  }
}

INSTANTIATE_TEST_SUITE_P(Recurrent, CutPlans, testing::Values("rnnlm", "rnntc", "nmt"),
                         [](const auto& row) { return row.param; });

}  // namespace
}  // namespace troika
