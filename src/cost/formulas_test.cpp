#include "cost/formulas.h"

#include <gtest/gtest.h>

#include "collective/algorithms.h"
#include "cost/testing/recipe_time.h"

namespace troika {
namespace {

LinkCosts uniform(LinkCost link) {
  return {.process = link,
          .node = link,
          .network = link,
          .memory = {.reduce = 3 * link.gamma, .reduce_both = 2}};
}

/// A count that each way of cutting divides.
CollectiveCall even_call(Collective kind, int members) {
  return equal_parts(kind, members, kind == Collective::barrier ? 0 : 64 * members);
}

TEST(Formulas, EqualTheWalkOfEveryRecipe) {
  LinkCosts costs = uniform({.alpha = 1000, .beta = 3, .gamma = 2});
  int compared = 0;
  for (int members : {1, 2, 3, 4, 5, 6, 7, 8, 12, 15, 16, 17, 31, 32, 33}) {
    for (const Algorithm& algorithm : algorithms()) {
      CollectiveCall call = even_call(algorithm.kind, members);
      if (algorithm.why_not(call)) continue;
      EXPECT_EQ(formula_time(call, algorithm.name, {4}, costs),
                recipe_time(make_recipe(call, algorithm.name), {4}, costs))
          << to_string(algorithm.kind) << " " << algorithm.name << " of " << members;
      ++compared;
    }
  }
  EXPECT_GT(compared, 200);
}

TEST(Formulas, EqualTheWalkOnNodesWithSlowLinksBetween) {
  LinkCosts costs = uniform({.alpha = 100, .beta = 1, .gamma = 1});
  costs.network = {.alpha = 7000, .beta = 9, .gamma = 4};
  for (int nodes : {2, 3, 4, 6}) {
    for (int each : {2, 3, 4, 8}) {
      CollectiveCall call = even_call(Collective::all_reduce, nodes * each);
      call.count *= 15;
      for (int member = 0; member < call.members; ++member) call.nodes.push_back(member / each);
      EXPECT_EQ(formula_time(call, "hierarchical", {4}, costs),
                recipe_time(make_recipe(call, "hierarchical"), {4}, costs))
          << nodes << " x " << each;
      if ((call.members & (call.members - 1)) != 0) continue;
      for (const char* algorithm : {"recursive_doubling", "rabenseifner", "tree"})
        EXPECT_EQ(formula_time(call, algorithm, {4}, costs),
                  recipe_time(make_recipe(call, algorithm), {4}, costs))
            << algorithm << " " << nodes << " x " << each;
    }
  }
}

TEST(Formulas, EqualTheWalkOfASegmentedRing) {
  LinkCosts costs = uniform({.alpha = 100, .beta = 3, .gamma = 3});
  for (int members : {2, 3, 8, 9}) {
    for (std::int64_t segment : {8, 16, 32, 64}) {
      CollectiveCall call = even_call(Collective::all_reduce, members);
      call.segment = segment;
      EXPECT_EQ(formula_time(call, "ring", {4}, costs),
                recipe_time(make_recipe(call, "ring"), {4}, costs))
          << members << " members, segments of " << segment;
    }
  }
}

// The figures that docs/algorithms.md shows: 8 members, 1 us per message, 1 ms for the vector.
TEST(Formulas, GiveTheKnownTimesOfEightMembers) {
  LinkCosts costs = uniform({.alpha = 1000, .beta = 1});
  CollectiveCall call = equal_parts(Collective::all_reduce, 8, 250'000);
  for (auto [algorithm, time] :
       std::initializer_list<std::pair<const char*, SimTime>>{{"tree", {6'006'000}},
                                                              {"recursive_doubling", {3'003'000}},
                                                              {"ring", {1'764'000}},
                                                              {"rabenseifner", {1'756'000}}}) {
    EXPECT_EQ(formula_time(call, algorithm, {4}, costs), time) << algorithm;
    EXPECT_EQ(recipe_time(make_recipe(call, algorithm), {4}, costs), time) << algorithm;
  }
}

TEST(Formulas, StayNearTheWalkWhereNothingDivides) {
  LinkCosts costs = uniform({.alpha = 1000, .beta = 3, .gamma = 2});
  for (int members : {2, 3, 5, 8, 13, 16}) {
    for (const Algorithm& algorithm : algorithms()) {
      if (algorithm.kind == Collective::barrier) continue;
      CollectiveCall call = equal_parts(algorithm.kind, members, 997);
      call.root = members / 2;
      if (algorithm.why_not(call)) continue;
      auto formula = static_cast<double>(formula_time(call, algorithm.name, {4}, costs).count);
      auto walk =
          static_cast<double>(recipe_time(make_recipe(call, algorithm.name), {4}, costs).count);
      EXPECT_NEAR(formula / walk, 1, 0.05)
          << to_string(algorithm.kind) << " " << algorithm.name << " of " << members;
    }
  }
}

TEST(Formulas, EqualTheWalkInTheFixedOrder) {
  LinkCosts costs = uniform({.alpha = 1000, .beta = 3, .gamma = 2});
  for (Collective kind : {Collective::all_reduce, Collective::reduce, Collective::reduce_scatter}) {
    for (int members : {2, 4, 8, 16}) {
      CollectiveCall call = even_call(kind, members);
      call.order = CombineOrder::tree;
      for (const Algorithm& algorithm : algorithms(kind)) {
        if (algorithm.why_not(call)) continue;
        EXPECT_EQ(formula_time(call, algorithm.name, {4}, costs),
                  recipe_time(make_recipe(call, algorithm.name), {4}, costs))
            << to_string(kind) << " " << algorithm.name << " of " << members;
      }
    }
  }
}

TEST(Formulas, CountCopiesThatTheWalkMayHide) {
  LinkCosts costs = uniform({.alpha = 1000, .beta = 3});
  costs.memory.copy = 1;
  for (Collective kind : {Collective::all_gather, Collective::all_to_all}) {
    for (int members : {2, 5, 8, 13}) {
      CollectiveCall call = even_call(kind, members);
      auto formula = static_cast<double>(formula_time(call, "bruck", {4}, costs).count);
      auto walk = static_cast<double>(recipe_time(make_recipe(call, "bruck"), {4}, costs).count);
      EXPECT_LE(walk, formula);
      EXPECT_GE(walk, 0.7 * formula) << to_string(kind) << " of " << members;
    }
  }
}

TEST(RecipeTime, PaysForEachMessageOnTheWayOnce) {
  // Two messages from one member wait for its port; two to different members from two do not.
  CollectiveCall call{.kind = Collective::broadcast, .members = 3, .count = 10};
  Piece all{Space::vector, {0, 10}};
  Recipe recipe{.call = call};
  recipe.members.resize(3);
  recipe.members[0].moves = {{.kind = MoveKind::send, .peer = 1, .from = all},
                             {.kind = MoveKind::send, .peer = 2, .from = all}};
  recipe.members[1].moves = {{.kind = MoveKind::receive, .peer = 0, .to = all}};
  recipe.members[2].moves = recipe.members[1].moves;
  EXPECT_EQ(recipe_time(recipe, {1}, uniform({.alpha = 5, .beta = 1})).count, 30);
}

TEST(RecipeTime, CopiesAndCombinesOnePieceAtATime) {
  Recipe recipe{.call = {.kind = Collective::all_reduce, .members = 1, .count = 20}};
  recipe.members = {{.scratch = 20}};
  for (Range half : {Range{0, 10}, Range{10, 20}})
    recipe.members[0].moves.push_back(
        {.kind = MoveKind::copy, .from = {Space::vector, half}, .to = {Space::scratch, half}});
  EXPECT_EQ(recipe_time(recipe, {1}, {.memory = {.copy = 3}}).count, 60);
}

}  // namespace
}  // namespace troika
