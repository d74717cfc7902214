#include "cost/choose_algorithm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "collective/algorithms.h"
#include "cost/testing/recipe_time.h"

namespace troika {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

LinkCosts network_costs() {
  LinkCosts costs = assumed_link_costs();
  costs.process = costs.node = costs.network;
  return costs;
}

CollectiveCall on_nodes(Collective kind, int members, std::int64_t count) {
  CollectiveCall call = equal_parts(kind, members, count);
  for (int member = 0; member < members; ++member) call.nodes.push_back(member);
  return call;
}

TEST(ChooseAlgorithm, TakesFewMessagesForSmallAndFewBytesForLargeVectors) {
  LinkCosts costs = network_costs();
  auto chosen = [&](int members, std::int64_t count) {
    return choose_algorithm(on_nodes(Collective::all_reduce, members, count), {4}, costs).algorithm;
  };
  EXPECT_EQ(chosen(8, 2), "recursive_doubling");
  EXPECT_EQ(chosen(8, 1 << 20), "rabenseifner");
  EXPECT_EQ(chosen(7, 1 << 24), "ring");
}

TEST(ChooseAlgorithm, SharesMemoryWhereThereIsSome) {
  CollectiveCall call = equal_parts(Collective::all_reduce, 2, 1 << 18);
  EXPECT_EQ(choose_algorithm(call, {4}, assumed_link_costs()).algorithm, "direct");
  call.nodes = {0, 1};
  AlgorithmChoice choice = choose_algorithm(call, {4}, assumed_link_costs());
  EXPECT_NE(choice.algorithm, "direct");
  EXPECT_THAT(explain(choice), HasSubstr("direct               members 0 and 1 share no memory\n"));
}

TEST(ChooseAlgorithm, KeepsTheFixedOrder) {
  CollectiveCall call = on_nodes(Collective::all_reduce, 8, 1 << 20);
  call.order = CombineOrder::tree;
  EXPECT_EQ(choose_algorithm(call, {4}, network_costs()).algorithm, "rabenseifner");
  call = on_nodes(Collective::all_reduce, 6, 1 << 20);
  call.order = CombineOrder::tree;
  EXPECT_THAT([&] { choose_algorithm(call, {4}, network_costs()); },
              ThrowsMessage<Error>(HasSubstr("no algorithm can do all_reduce of 4.0 MiB among 6 "
                                             "members (direct: members 0 and 1 share no memory")));
}

TEST(ChooseAlgorithm, CutsARingWhereThatHidesTheCombining) {
  CollectiveCall call = on_nodes(Collective::all_reduce, 7, 7 << 20);
  LinkCosts costs = network_costs();
  costs.network.gamma = 0.7;
  AlgorithmChoice choice = choose_algorithm(call, {4}, costs);
  EXPECT_EQ(choice.algorithm, "ring");
  EXPECT_EQ(choice.segment, 1 << 19);
  call.segment = choice.segment;
  EXPECT_EQ(choice.time, recipe_time(make_recipe(call, "ring"), {4}, costs));
  costs.network.gamma = 0;
  call.segment = 0;
  EXPECT_EQ(choose_algorithm(call, {4}, costs).segment, 0);
}

TEST(ChooseAlgorithm, ListsAllOfTheKindQuickestFirst) {
  AlgorithmChoice choice =
      choose_algorithm(on_nodes(Collective::broadcast, 9, 1 << 20), {4}, network_costs());
  ASSERT_EQ(choice.alternatives.size(), algorithms(Collective::broadcast).size());
  EXPECT_EQ(choice.alternatives[0].algorithm, choice.algorithm);
  EXPECT_LE(*choice.alternatives[0].time, *choice.alternatives[1].time);
  EXPECT_THAT(explain(choice), HasSubstr("* scatter_all_gather "));
}

TEST(ChooseAlgorithm, FollowsTheRangesAndLeavesTheRestToTheCosts) {
  AlgorithmRanges ranges = parse_algorithm_ranges("tree:1KiB-2KiB", Collective::all_reduce);
  auto choice = [&](std::int64_t count) {
    return choose_algorithm(on_nodes(Collective::all_reduce, 8, count), {4}, network_costs(),
                            ranges);
  };
  EXPECT_EQ(choice(256).algorithm, "tree");
  EXPECT_TRUE(choice(256).asked_for);
  EXPECT_NE(choice(255).algorithm, "tree");
  EXPECT_NE(choice(512).algorithm, "tree");
  ranges = parse_algorithm_ranges("direct:0-max", Collective::all_reduce);
  EXPECT_THAT([&] { choice(1); },
              ThrowsMessage<Error>(HasSubstr("ask for 'direct' for all_reduce of 4 B among 8 "
                                             "members, but members 0 and 1 share no memory")));
}

LinkCosts costs_with_mpi(double nanoseconds) {
  LinkCosts costs = network_costs();
  costs.measured.push_back({.kind = Collective::all_reduce,
                            .algorithm = "mpi",
                            .members = 4,
                            .link = LinkKind::network,
                            .times = {{{{8}, nanoseconds}, {{1024}, nanoseconds}}}});
  return costs;
}

TEST(ChooseAlgorithm, WeighsMpisOwnCollectiveByItsMeasuredTimeWhereItIsOffered) {
  CollectiveCall call = on_nodes(Collective::all_reduce, 4, 16);
  auto chosen = [&](double nanoseconds, ChoiceOptions options) {
    return choose_algorithm(call, {4}, costs_with_mpi(nanoseconds), {}, options).algorithm;
  };
  EXPECT_EQ(chosen(5, {.offers_mpi = true}), "mpi");
  EXPECT_EQ(chosen(5, {}), "recursive_doubling");
  EXPECT_EQ(chosen(1e9, {.offers_mpi = true}), "recursive_doubling");
}

TEST(ChooseAlgorithm, HasNoFormulaForMpisOwnCollective) {
  ChoiceOptions offered{.offers_mpi = true};
  AlgorithmRanges asked = parse_algorithm_ranges("mpi:0-max", Collective::all_reduce);
  CollectiveCall five = on_nodes(Collective::all_reduce, 5, 16);
  EXPECT_THAT([&] { choose_algorithm(five, {4}, costs_with_mpi(5), asked, offered); },
              ThrowsMessage<Error>(HasSubstr("but its time was not measured for this call")));
  CollectiveCall ordered = on_nodes(Collective::all_reduce, 4, 16);
  ordered.order = CombineOrder::tree;
  AlgorithmChoice choice = choose_algorithm(ordered, {4}, costs_with_mpi(5), {}, offered);
  EXPECT_THAT(explain(choice), HasSubstr("mpi                  MPI promises no order\n"));
}

TEST(ChooseAlgorithm, RefusesARangeOfAnAlgorithmThatIsNotOffered) {
  AlgorithmRanges asked = parse_algorithm_ranges("mpi:0-max", Collective::all_reduce);
  CollectiveCall call = on_nodes(Collective::all_reduce, 4, 16);
  EXPECT_THAT([&] { choose_algorithm(call, {4}, costs_with_mpi(5), asked); },
              ThrowsMessage<Error>(HasSubstr("which has no such algorithm here")));
}

TEST(AlgorithmRanges, ReadSizesWithUnitsInAnyOrder) {
  AlgorithmRanges ranges = parse_algorithm_ranges(
      "ring: 1MiB-max; recursive_doubling:0-8KiB ;rabenseifner:8KiB-1MiB;", Collective::all_reduce);
  ASSERT_EQ(ranges.size(), 3u);
  EXPECT_EQ(find_range(ranges, {0})->algorithm, "recursive_doubling");
  EXPECT_EQ(find_range(ranges, {8191})->algorithm, "recursive_doubling");
  EXPECT_EQ(find_range(ranges, {8192})->algorithm, "rabenseifner");
  EXPECT_EQ(find_range(ranges, {std::int64_t{1} << 40})->algorithm, "ring");
  EXPECT_EQ(find_range(parse_algorithm_ranges("tree:1-2", Collective::reduce), {0}), nullptr);
}

TEST(AlgorithmRanges, RefuseBadTextInASentence) {
  for (auto row : std::initializer_list<std::pair<const char*, const char*>>{
           {"", "there is no range"},
           {"ring", "'ring' in the algorithm ranges: there is no ':'"},
           {"ring:5", "not of the form FROM-TO"},
           {"ring:0-5parsecs", "'5parsecs' is not a size"},
           {"ring:8-8", "the range is empty"},
           {"rign:0-max", "there is no all_reduce algorithm 'rign'; there are direct, "},
           {";ring:0-max", "'' in the algorithm ranges"},
           {"ring:0-9;tree:8-max", "it overlaps the range of 'ring'"},
           {"ring:0-max;tree:8-max", "it overlaps the range of 'ring'"}})
    EXPECT_THAT([&] { parse_algorithm_ranges(row.first, Collective::all_reduce); },
                ThrowsMessage<Error>(HasSubstr(row.second)))
        << row.first;
}

}  // namespace
}  // namespace troika
