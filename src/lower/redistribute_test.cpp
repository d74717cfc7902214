#include "lower/redistribute.h"

#include <gtest/gtest.h>

#include "lower/testing/random_spread.h"

namespace troika {
namespace {

/// Every element of the need as the assembly puts it together.
std::vector<double> run(const Shape& shape, const Spread& have, const Placed& need,
                        const Assembly& assembly) {
  std::vector<double> whole(static_cast<std::size_t>(shape.elements()), 0.0);
  for (const Taken& taken : assembly) {
    EXPECT_TRUE(contains(have.terms[taken.term][taken.piece].region, taken.region));
    for_each_run(shape, taken.region, [&](std::int64_t offset, std::int64_t length) {
      for (std::int64_t i = offset; i < offset + length; ++i)
        whole[static_cast<std::size_t>(i)] += value_of(taken.term, i);
    });
  }
  std::vector<double> wanted;
  for_each_run(shape, need.region, [&](std::int64_t offset, std::int64_t length) {
    for (std::int64_t i = offset; i < offset + length; ++i)
      wanted.push_back(whole[static_cast<std::size_t>(i)]);
  });
  return wanted;
}

/// Elements that the assembly takes from other devices than the need's.
std::int64_t elements_moved(const Spread& have, const Placed& need, const Assembly& assembly) {
  std::int64_t moved = 0;
  for (const Taken& taken : assembly)
    if (have.terms[taken.term][taken.piece].device != need.device) moved += taken.region.elements();
  return moved;
}

TEST(Assemble, GivesEveryNeedOfRandomSpreadsAndMovesNoMoreThanItLacks) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Draws draws(seed);
    Shape shape;
    for (std::int64_t rank = 1 + draws.below(4); rank > 0; --rank)
      shape.push_back(1 + draws.below(7));
    std::int64_t devices = 1 + draws.below(8);
    Spread have;
    for (std::int64_t terms = 1 + draws.below(3); terms > 0; --terms)
      have.terms.push_back(random_tiles(shape, devices, draws));
    std::vector<Placed> needs = random_tiles(shape, devices, draws);
    std::vector<Assembly> assemblies = assemble(have, needs);
    std::int64_t lacking = 0, moved = 0;
    for (std::size_t at = 0; at < needs.size(); ++at) {
      ASSERT_EQ(run(shape, have, needs[at], assemblies[at]),
                expected(shape, have.terms.size(), needs[at]))
          << "seed " << seed << " need " << to_string(needs[at].region);
      lacking += elements_lacking(shape, have, needs[at]);
      moved += elements_moved(have, needs[at], assemblies[at]);
    }
    EXPECT_EQ(moved, lacking) << "seed " << seed;
  }
}

TEST(Assemble, APieceThatIsThereAlreadyStays) {
  Spread have{{{{{{{0, 4}}}, device(0)}, {{{{4, 8}}}, device(1)}}}};
  std::vector<Placed> needs{{{{{4, 8}}}, device(1)}, {{{{0, 8}}}, device(1)}};
  std::vector<Assembly> assemblies = assemble(have, needs);
  EXPECT_TRUE(is_in_place(have, needs[0], assemblies[0]));
  EXPECT_FALSE(is_in_place(have, needs[1], assemblies[1]));
  EXPECT_EQ(elements_moved(have, needs[0], assemblies[0]), 0);
  EXPECT_EQ(elements_moved(have, needs[1], assemblies[1]), 4);
}

/// `region` on each of the devices.
std::vector<Placed> on_each(const Region& region, std::int64_t devices) {
  std::vector<Placed> pieces;
  for (std::int64_t at = 0; at < devices; ++at) pieces.push_back({region, device(at)});
  return pieces;
}

/// One part of the region's first dimension on each of the devices.
std::vector<Placed> cut_over(const Region& region, std::int64_t devices) {
  std::vector<Placed> pieces = on_each(region, devices);
  for (std::int64_t at = 0; at < devices; ++at)
    pieces[static_cast<std::size_t>(at)].region.ranges[0] =
        part_of(region[0].extent(), at, devices);
  return pieces;
}

Spread partial_sums(const Region& region, std::int64_t devices) {
  Spread have;
  for (const Placed& piece : on_each(region, devices)) have.terms.push_back({piece});
  return have;
}

TEST(FindExchanges, PartialSumsThatAllNeedAreAnAllReduce) {
  Region whole{{{0, 6}, {0, 5}}};
  std::vector<Exchange> found = find_exchanges(partial_sums(whole, 3), on_each(whole, 3));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, Exchange::Kind::all_reduce);
  EXPECT_EQ(found[0].region, whole);
  EXPECT_EQ(found[0].needs, (std::vector<std::size_t>{0, 1, 2}));
}

TEST(FindExchanges, PartialSumsThatEachNeedsAPartOfAreAReduceScatter) {
  Region whole{{{0, 7}, {0, 5}}};
  std::vector<Exchange> found = find_exchanges(partial_sums(whole, 3), cut_over(whole, 3));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, Exchange::Kind::reduce_scatter);
}

TEST(FindExchanges, PartsThatAllNeedAreAnAllGather) {
  Region whole{{{0, 7}, {0, 5}}};
  std::vector<Exchange> found = find_exchanges({{cut_over(whole, 3)}}, on_each(whole, 3));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, Exchange::Kind::all_gather);
  EXPECT_EQ(found[0].pieces.size(), 3u);
}

TEST(FindExchanges, WhatALargerGatheringBringsIsNotGatheredAgain) {
  Region whole{{{0, 6}}}, part{{{0, 4}}};
  std::vector<Placed> needs = on_each(part, 2);
  std::ranges::copy(on_each(whole, 3), std::back_inserter(needs));
  std::vector<Exchange> found = find_exchanges({{cut_over(whole, 3)}}, needs);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].region, whole);
}

TEST(FindExchanges, EachSliceOfAParameterHasAnAllReduceOfItsOwn) {
  // Two slices, each summed over two samples' shares: devices 0, 2 and 1, 3.
  Region low{{{0, 2}}}, high{{{2, 4}}};
  Spread have{{{{low, device(0)}, {high, device(1)}}, {{low, device(2)}, {high, device(3)}}}};
  std::vector<Placed> needs{
      {low, device(0)}, {high, device(1)}, {low, device(2)}, {high, device(3)}};
  std::vector<Exchange> found = find_exchanges(have, needs);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].needs, (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(found[1].needs, (std::vector<std::size_t>{1, 3}));
}

/// One part of the last dimension on each of the devices, in the opposite order.
std::vector<Placed> cut_across(const Region& region, std::int64_t devices) {
  std::vector<Placed> pieces = on_each(region, devices);
  for (std::int64_t at = 0; at < devices; ++at)
    pieces[static_cast<std::size_t>(at)].region.ranges.back() =
        part_of(region.ranges.back().extent(), devices - 1 - at, devices);
  return pieces;
}

TEST(FindExchanges, EqualBlocksForAllOthersAreAnAllToAll) {
  Region whole{{{0, 16}, {0, 3}, {0, 8}}};
  std::vector<Placed> needs = cut_across(whole, 8);
  std::vector<Exchange> found = find_exchanges({{cut_over(whole, 8)}}, needs);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, Exchange::Kind::all_to_all);
  for (std::size_t at = 0; at < 8; ++at) {
    EXPECT_EQ(found[0].pieces[at].piece, at);
    EXPECT_EQ(needs[found[0].needs[at]].device, device(static_cast<std::int64_t>(at)));
  }
}

TEST(FindExchanges, GroupsThatShareNothingHaveAnAllToAllEach) {
  Region whole{{{0, 16}, {0, 8}}};
  std::vector<Placed> pieces = cut_over(whole, 16), needs;
  for (std::int64_t at = 0; at < 16; ++at)
    needs.push_back({{{{at / 8 * 8, at / 8 * 8 + 8}, {at % 8, at % 8 + 1}}}, device(at)});
  std::vector<Exchange> found = find_exchanges({{pieces}}, needs);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].pieces.size(), 8u);
  EXPECT_EQ(found[1].needs.front(), 8u);
}

TEST(FindExchanges, UnequalBlocksAreNoAllToAll) {
  Region whole{{{0, 16}, {0, 9}}};
  EXPECT_TRUE(find_exchanges({{cut_over(whole, 8)}}, cut_across(whole, 8)).empty());
}

TEST(FindExchanges, ADeviceThatNeedsMoreKeepsItsGroupFromAnAllToAll) {
  Region whole{{{0, 16}, {0, 8}}};
  std::vector<Placed> needs = cut_across(whole, 8);
  needs.push_back({{{{0, 1}, {0, 8}}}, device(3)});
  EXPECT_TRUE(find_exchanges({{cut_over(whole, 8)}}, needs).empty());
}

TEST(FindExchanges, FewDevicesTransferInstead) {
  Region whole{{{0, 16}, {0, 8}}};
  EXPECT_TRUE(find_exchanges({{cut_over(whole, 4)}}, cut_across(whole, 4)).empty());
}

TEST(FindExchanges, NeedsOfOtherDevicesAreNone) {
  Region whole{{{0, 6}}};
  EXPECT_TRUE(find_exchanges(partial_sums(whole, 3), on_each(whole, 2)).empty());
  EXPECT_TRUE(find_exchanges(partial_sums(whole, 2), on_each(whole, 3)).empty());
  EXPECT_TRUE(find_exchanges({{cut_over(whole, 3)}}, {{whole, device(4)}}).empty());
  EXPECT_TRUE(find_exchanges({{on_each(whole, 2)}}, on_each(whole, 2)).empty());
}

}  // namespace
}  // namespace troika
