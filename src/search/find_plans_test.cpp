#include "search/find_plans.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "search/exhaustive.h"
#include "search/explanation.h"
#include "search/path_bound.h"
#include "search/testing/small_search.h"
#include "strategy/tiles.h"

namespace troika {
namespace {

/// The period of a plan that is planned and simulated from scratch.
SimTime period_of(SmallSearch& model, const Strategy& strategy) {
  LowerRequest own = model.asked;
  own.strategy = &strategy;
  ScoringKernels kernels = model.kernels_of();
  SearchedPlan plan(own, kernels);
  EXPECT_EQ(plan.start(), std::nullopt);
  return plan.period();
}

TEST(FindPlans, BeatsWhatItBeginsWith) {
  SmallSearch model(kMixedModel, 2, 2);
  FoundPlans found = model.find(model.options(800));
  const FoundPlan& best = found.plans.front();
  EXPECT_LT(best.period, *found.seed("data")->period);
  EXPECT_LT(best.period, *found.seed("single")->period);
  EXPECT_TRUE(std::ranges::is_sorted(found.plans, {}, &FoundPlan::period));
}

TEST(FindPlans, PredictsThePlansItReturns) {
  SmallSearch model(kMixedModel, 2, 2);
  FoundPlans found = model.find(model.options(300));
  for (const FoundPlan& plan : found.plans)
    EXPECT_EQ(period_of(model, plan.strategy), plan.period) << plan.origin;
}

TEST(FindPlans, EndsAtALocalOptimumOfEvenSplits) {
  SmallSearch model(kMixedModel, 2, 2);
  FoundPlan best = model.find(model.options(100)).plans.front();
  ASSERT_EQ(best.origin, "search");
  IndexedGraph index(model.graph);
  SplitMenus menus(index, model.machine);
  for (std::size_t op = 0; op < menus.count(); ++op) {
    for (std::size_t place : menus.even(op)) {
      Strategy changed = best.strategy;
      changed.splits[model.graph.operators[op].name] = menus.of(op)[place];
      if (why_infeasible(changed, model.graph, model.machine)) continue;
      EXPECT_GE(period_of(model, changed), best.period) << model.graph.operators[op].name;
    }
  }
}

TEST(FindPlans, FindsTheSameOnAnyNumberOfThreads) {
  SmallSearch model(kMixedModel, 2, 2);
  FoundPlans one = model.find(model.options(400, 1)), three = model.find(model.options(400, 3));
  EXPECT_EQ(to_json(one.plans.front().strategy), to_json(three.plans.front().strategy));
  EXPECT_EQ(one.proposed, three.proposed);
  PlanSearchOptions other = model.options(400, 2);
  other.seed = 7;
  EXPECT_NE(model.find(other).moves[0].accepted, one.moves[0].accepted);
}

TEST(FindPlans, NeverExceedsMemory) {
  SmallSearch model(kMixedModel, 1, 2);
  ScoringKernels kernels = model.kernels_of();
  SearchedPlan whole(model.asked, kernels);
  ASSERT_EQ(whole.start(), std::nullopt);
  Bytes needed = memory_by_class(whole.planner().folding(), whole.table())[0].total();
  // Less than the whole model needs on one device.
  for (DeviceSpec& device : model.machine.devices) device.memory = {needed.count * 3 / 4};
  FoundPlans found = model.find(model.options(400));
  EXPECT_FALSE(found.seed("single")->period);
  EXPECT_NE(found.seed("single")->why_not.find("device 0 would need"), std::string::npos);
  for (const FoundPlan& plan : found.plans) {
    LowerRequest own = model.asked;
    own.strategy = &plan.strategy;
    SearchedPlan again(own, kernels);
    ASSERT_EQ(again.start(), std::nullopt);
    EXPECT_FALSE(again.find_lack()) << plan.origin;
  }
}

TEST(FindPlans, SaysWhatIsMissingWhereNothingFits) {
  SmallSearch model(kMixedModel, 1, 2);
  for (DeviceSpec& device : model.machine.devices) device.memory = {1000};
  ScoringKernels kernels = model.kernels_of();
  auto found = find_plans(model.asked, kernels, model.options(10));
  ASSERT_TRUE(std::holds_alternative<NoPlan>(found));
  EXPECT_NE(std::get<NoPlan>(found).reason.find("1000 B"), std::string::npos);
}

TEST(FindPlans, StopsWhenAsked) {
  SmallSearch model(kMixedModel, 2, 2);
  PlanSearchOptions options = model.options(1'000'000);
  std::atomic<std::int64_t> told = 0;
  options.report = [&](const SearchStatus& status) { told = status.proposed; };
  options.stop_requested = [&] { return told >= 50; };
  FoundPlans found = model.find(options);
  EXPECT_TRUE(found.was_stopped);
  EXPECT_LT(found.proposed, 200);
  EXPECT_FALSE(found.plans.empty());
}

TEST(PlanBounds, AreBelowEveryPlan) {
  for (std::int64_t nodes : {1, 2}) {
    SmallSearch model(kMixedModel, nodes, 2);
    IndexedGraph index(model.graph);
    SplitMenus menus(index, model.machine);
    ScoringKernels kernels = model.kernels_of();
    TileCosts costs(index, model.asked, kernels);
    PlanBounds bounds = find_bounds(menus, costs);
    EXPECT_GT(bounds.least(), SimTime{});
    EXPECT_GE(model.find(model.options(300)).plans.front().period, bounds.least());
    SearchDraws draws(3, 1);
    for (int number = 0; number < 40; ++number) {
      Strategy strategy;
      for (std::size_t op = 0; op < menus.count(); ++op)
        strategy.splits[model.graph.operators[op].name] =
            menus.of(op)[draws.below(menus.of(op).size())];
      EXPECT_GE(period_of(model, strategy), bounds.least()) << to_json(strategy);
    }
  }
}

/// One linear layer of the space, with what is around it.
constexpr const char* kTinySpace = R"(graph tiny
input x f32[8,32]
input target i32[8]
input weight f32[8]
parameter a.weight f32[64,32] uniform 0.5
parameter b.weight f32[4,64] uniform 0.5
operator a linear{out=64} (x) [a.weight] -> a
operator b linear{out=4} (a) [b.weight] -> logits
operator loss cross_entropy{} (logits target weight) [] -> loss_sum weight_sum
output logits logits
loss loss_sum weight_sum
)";

/// Every strategy of a small space, and every prefix of the chain of each.
TEST(PathBound, IsBelowEveryPlanThatItSpeaksOf) {
  for (std::int64_t nodes : {1, 2}) {
    SmallSearch model(kTinySpace, nodes, 2);
    IndexedGraph index(model.graph);
    SplitMenus menus(index, model.machine, {.runs = nodes == 1 ? 0 : 1});
    ScoringKernels kernels = model.kernels_of();
    TileCosts costs(index, model.asked, kernels);
    PathBound bound(menus, costs, links_of(model.asked));
    ASSERT_EQ(bound.path(), (std::vector<std::size_t>{0, 1, 2}));
    std::int64_t strategies = 0, with_messages = 0;
    double tightest = 0;
    for (std::size_t a = 0; a < menus.of(0).size(); ++a)
      for (std::size_t b = 0; b < menus.of(1).size(); ++b)
        for (std::size_t loss = 0; loss < menus.of(2).size(); ++loss) {
          Strategy strategy{.splits = {{"a", menus.of(0)[a]},
                                       {"b", menus.of(1)[b]},
                                       {"loss", menus.of(2)[loss]}}};
          if (why_infeasible(strategy, model.graph, model.machine)) continue;
          SimTime period = period_of(model, strategy);
          std::vector<std::size_t> chosen{a, b, loss};
          for (std::size_t length = 0; length <= chosen.size(); ++length)
            ASSERT_LE(bound.least(std::span(chosen).first(length)), period) << to_json(strategy);
          SimTime kernels_only = costs.bound_of(0, menus.of(0)[a]).forward;
          with_messages += bound.least(chosen) > kernels_only ? 1 : 0;
          tightest = std::max(tightest, static_cast<double>(bound.least(chosen).count) /
                                            static_cast<double>(period.count));
          ++strategies;
        }
    EXPECT_GT(bound.least({}), SimTime{});
    EXPECT_GT(tightest, 0.5) << "a bound twice too high would not be noticed";
    EXPECT_GT(strategies, 50);
    EXPECT_GT(with_messages, strategies / 2);
  }
}

TEST(Exhaustive, FindsTheLeastOfAllStrategies) {
  SmallSearch model(kTinySpace);
  IndexedGraph index(model.graph);
  SplitMenus menus(index, model.machine);
  ScoringKernels kernels = model.kernels_of();
  SimTime least{std::int64_t{1} << 60};
  std::int64_t count = 0;
  for (const Split& a : menus.of(0))
    for (const Split& b : menus.of(1))
      for (const Split& loss : menus.of(2)) {
        Strategy strategy{.splits = {{"a", a}, {"b", b}, {"loss", loss}}};
        if (why_infeasible(strategy, model.graph, model.machine)) continue;
        least = std::min(least, period_of(model, strategy));
        ++count;
      }
  Strategy poor = data_parallel(model.graph, model.machine);
  auto result = search_exhaustively({.request = model.asked,
                                     .kernels = kernels,
                                     .menus = menus,
                                     .first = {poor, period_of(model, poor)}});
  const Certificate& certificate = std::get<Certificate>(result);
  EXPECT_LT(least, period_of(model, poor)) << "nothing is left to find";
  EXPECT_EQ(certificate.best.period, least);
  EXPECT_EQ(certificate.size, menus.size());
  EXPECT_LE(certificate.simulated, static_cast<std::int64_t>(menus.size()));
  EXPECT_GT(count, 50);
}

TEST(Exhaustive, GivesUpAtItsLimit) {
  SmallSearch model(kTinySpace);
  IndexedGraph index(model.graph);
  SplitMenus menus(index, model.machine);
  ScoringKernels kernels = model.kernels_of();
  Strategy single = Strategy::single();
  auto result = search_exhaustively({.request = model.asked,
                                     .kernels = kernels,
                                     .menus = menus,
                                     .first = {single, period_of(model, single)},
                                     .most_simulated = 3});
  EXPECT_TRUE(std::holds_alternative<std::int64_t>(result));
}

TEST(Explanation, AddsUpToTheGainOverDataParallelism) {
  SmallSearch model(kMixedModel, 2, 2);
  FoundPlans found = model.find(model.options(500));
  Strategy best = found.plans.front().strategy;
  LowerRequest own = model.asked;
  own.strategy = &best;
  IndexedGraph index(model.graph);
  Explanation why = explain_plan(own, model.kernels_of(), SplitMenus(index, model.machine));
  EXPECT_EQ(why.period, found.plans.front().period);
  ASSERT_TRUE(why.data_parallel);
  SimTime sum{};
  for (const GainPart& part : why.gains) sum += part.gain;
  EXPECT_EQ(sum, *why.data_parallel - why.period);
  ASSERT_EQ(why.operators.size(), model.graph.operators.size());
  for (const ExplainedOperator& op : why.operators) {
    for (const SplitAlternative& alternative : op.alternatives) {
      Strategy changed = best;
      changed.splits[op.name] = alternative.split;
      EXPECT_EQ(period_of(model, changed) - why.period, alternative.difference) << op.name;
    }
  }
}

}  // namespace
}  // namespace troika
