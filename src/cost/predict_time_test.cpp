#include "cost/predict_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collective/algorithms.h"
#include "cost/choose_algorithm.h"
#include "cost/formulas.h"
#include "cost/testing/recipe_time.h"

namespace troika {
namespace {

using testing::HasSubstr;

constexpr Bytes kElement{4};

/// A machine on which, against all formulas, the tree is quickest for short vectors and the ring
/// for long ones.
LinkCosts made_up_costs() {
  LinkCosts costs = assumed_link_costs();
  auto add = [&](const char* algorithm, double alpha, double beta) {
    SizeCurve times;
    for (std::int64_t bytes = 8; bytes <= 1 << 20; bytes *= 8)
      times.points.push_back({{bytes}, alpha + static_cast<double>(bytes) * beta});
    costs.measured.push_back({.kind = Collective::all_reduce,
                              .algorithm = algorithm,
                              .members = 4,
                              .link = LinkKind::process,
                              .times = times});
  };
  add("direct", 5000, 0.3);
  add("recursive_doubling", 3000, 0.4);
  add("rabenseifner", 4000, 0.2);
  add("ring", 2000, 0.1);
  add("tree", 1000, 0.9);
  return costs;
}

CollectiveCall four_members(std::int64_t count) {
  return equal_parts(Collective::all_reduce, 4, count);
}

TEST(PredictTime, ChoosesWhatWasMeasuredQuickest) {
  LinkCosts costs = made_up_costs();
  auto chosen = [&](std::int64_t bytes) {
    return choose_algorithm(four_members(bytes / 4), kElement, costs).algorithm;
  };
  for (std::int64_t bytes : {4, 8, 100, 1000}) EXPECT_EQ(chosen(bytes), "tree") << bytes;
  for (std::int64_t bytes : {1400, 4096, 77'776, 1 << 20, 64 << 20})
    EXPECT_EQ(chosen(bytes), "ring") << bytes;
  AlgorithmChoice choice = choose_algorithm(four_members(256), kElement, costs);
  EXPECT_EQ(choice.time.count, 1922);
  EXPECT_THAT(explain(choice), HasSubstr("* tree                 1.9 us, as measured here\n"));
}

TEST(PredictTime, DoesNotWeighSegmentsByFormulaAgainstMeasuredTimes) {
  LinkCosts costs = made_up_costs();
  costs.process = {.alpha = 1};  // by formula a message costs next to nothing
  AlgorithmChoice choice = choose_algorithm(four_members(1 << 18), kElement, costs);
  EXPECT_EQ(choice.algorithm, "ring");
  EXPECT_EQ(choice.segment, 0);
}

TEST(PredictTime, LeavesToTheFormulaWhatWasNotMeasured) {
  LinkCosts costs = made_up_costs();
  auto expect_formula = [&](const CollectiveCall& call, std::string_view algorithm) {
    PredictedTime predicted = predict_time(call, algorithm, kElement, costs);
    EXPECT_FALSE(predicted.is_measured);
    EXPECT_EQ(predicted.time, formula_time(call, algorithm, kElement, costs));
  };
  EXPECT_TRUE(predict_time(four_members(1000), "tree", kElement, costs).is_measured);
  expect_formula(equal_parts(Collective::all_reduce, 8, 1000), "tree");
  expect_formula(equal_parts(Collective::broadcast, 4, 1000), "tree");
  expect_formula(four_members(0), "tree");
  CollectiveCall call = four_members(1000);
  call.processes = {0, 0, 1, 1};
  expect_formula(call, "tree");
  call.processes = {0, 1, 2, 3};
  expect_formula(call, "tree");
  call = four_members(1000);
  call.segment = 100;
  expect_formula(call, "ring");
}

TEST(PredictTime, LeavesUnequalPartsToTheFormula) {
  LinkCosts costs = assumed_link_costs();
  costs.measured = {
      {.kind = Collective::all_gather, .algorithm = "ring", .members = 2, .times = {{{{8}, 7}}}}};
  CollectiveCall call = equal_parts(Collective::all_gather, 2, 2);
  EXPECT_EQ(predict_time(call, "ring", kElement, costs).time.count, 7);
  call.ranges = {{0, 2}, {2, 2}};
  EXPECT_FALSE(predict_time(call, "ring", kElement, costs).is_measured);
}

TEST(PredictTime, FormulaAndWalkAgreeOnMeasuredLinks) {
  LinkCosts costs = assumed_link_costs();
  SizeCurve messages{{{{0}, 100}, {{64}, 130}, {{4096}, 2000}, {{65536}, 90'000}}};
  SizeCurve work{{{{64}, 20}, {{4096}, 700}, {{65536}, 40'000}}};
  costs.process.message_times = messages;
  costs.process.combine_times = costs.memory.reduce_times = work;
  costs.memory.copy_times = costs.memory.reduce_both_times = work;
  for (int members : {2, 4, 8}) {
    for (const char* algorithm : {"direct", "recursive_doubling", "rabenseifner", "ring", "tree"}) {
      CollectiveCall call = equal_parts(Collective::all_reduce, members, 8 * 777);
      EXPECT_EQ(formula_time(call, algorithm, kElement, costs),
                recipe_time(make_recipe(call, algorithm), kElement, costs))
          << algorithm << " of " << members;
    }
  }
}

TEST(RuntimeCosts, CountHandingOverAndTheInputsOfAProcess) {
  MemoryCost memory{.copy = 0.5};
  RuntimeCosts costs = runtime_costs({{{0, 1}, {4000}}, {{2}, {}}}, memory);
  EXPECT_EQ(costs.task, SimTime{50});
  EXPECT_EQ(costs.message_end, SimTime{50});
  ASSERT_EQ(costs.processes.size(), 2u);
  EXPECT_EQ(costs.processes[0], (LoopProcess{{0, 1}, {42'000}}));
  EXPECT_EQ(costs.processes[1], (LoopProcess{{2}, {40'000}}));
  EXPECT_EQ(costs.longest_rest(), SimTime{42'000});
}

}  // namespace
}  // namespace troika
