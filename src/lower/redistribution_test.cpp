// The redistributions that plans consist of, each written out.
#include "lower/redistribution.h"

#include <gtest/gtest.h>

#include "lower/testing/random_redistribution.h"
#include "lower/testing/redistribution_text.h"

namespace troika {
namespace {

using Bounds = std::vector<std::pair<std::int32_t, std::int32_t>>;

/// A request that is built up tile by tile.
struct Request : RedistributionCase {
  Request(const std::vector<std::int32_t>& extents, std::int32_t devices)
      : RedistributionCase(plain_redistribution(extents, devices)) {}

  std::int32_t devices() const { return static_cast<std::int32_t>(process.size()); }
  Bounds whole() const {
    Bounds bounds;
    for (int dim = 0; dim < request.frame.dims; ++dim)
      bounds.emplace_back(0, request.frame.extents[dim]);
    return bounds;
  }
  /// The device's part of a dimension.
  Bounds part(std::size_t dim, std::int32_t device) const {
    Bounds bounds = whole();
    Range range = part_of(bounds[dim].second, device, devices());
    bounds[dim] = {static_cast<std::int32_t>(range.begin), static_cast<std::int32_t>(range.end)};
    return bounds;
  }
  Touch tile(std::int32_t device, const Bounds& bounds) { return {device, box(make_box(bounds))}; }

  std::vector<Touch> parts(std::size_t dim) {
    std::vector<Touch> tiles(process.size());
    for (std::int32_t at = 0; at < devices(); ++at) tiles[at] = tile(at, part(dim, at));
    return tiles;
  }
  std::vector<Touch> wholes() {
    std::vector<Touch> tiles(process.size());
    for (std::int32_t at = 0; at < devices(); ++at) tiles[at] = tile(at, whole());
    return tiles;
  }

  /// All tiles of one term, or each of its own.
  Contribution& write(const std::vector<Touch>& tiles, bool are_terms = false) {
    Contribution from{.tiles = tiles};
    for (std::int32_t at = 0; at < std::ssize(tiles); ++at)
      from.terms.push_back(are_terms ? at : 0);
    from.term_count = are_terms ? static_cast<std::int32_t>(tiles.size()) : 1;
    return request.from.emplace_back(from);
  }
  void read(const std::vector<Touch>& tiles) { request.readers.push_back(tiles); }

  Redistribution redistribute() const {
    Redistribution result = troika::redistribute(request, where());
    EXPECT_EQ(run(*this, result).fault, "");
    return result;
  }
  std::string text(std::int32_t device) const { return describe(request, redistribute(), device); }
};

TEST(Redistribution, DataParallelStaysInPlace) {
  Request made({8}, 4);
  made.write(made.parts(0));
  made.read(made.parts(0));
  made.read({made.parts(0)[2]});
  Redistribution result = made.redistribute();
  EXPECT_TRUE(result.in_place);
  EXPECT_TRUE(result.steps.empty());
  EXPECT_EQ(result.buffers.size(), 4u);
  EXPECT_EQ(result.reads, (std::vector<std::vector<std::int32_t>>{{0, 1, 2, 3}, {2}}));
}

TEST(Redistribution, BuffersAreSortedByDeviceWhereTilesAreNot) {
  Request made({8}, 4);
  std::vector<Touch> tiles = made.parts(0);
  std::ranges::reverse(tiles);
  made.write(tiles);
  made.read(tiles);
  Redistribution result = made.redistribute();
  EXPECT_TRUE(result.in_place);
  EXPECT_EQ(result.reads[0], (std::vector<std::int32_t>{3, 2, 1, 0}));
}

TEST(Redistribution, AGradientIsReducedInPlace) {
  Request made({6}, 3);
  made.write(made.wholes(), true);
  made.read(made.wholes());
  EXPECT_EQ(made.text(1),
            "0 start written0[0:6] all_reduce of 6 among 1 2 0\n"
            "1 finish written0[0:6] all_reduce of 6 among 1 2 0\n"
            "read 0 written0[0:6]\n");
}

TEST(Redistribution, MemoryThatOthersUseIsReducedInACopy) {
  Request made({6}, 2);
  made.write(made.wholes(), true).shared = true;
  made.read(made.wholes());
  EXPECT_EQ(made.text(0),
            "0 assemble value1[0:6] <- written0[0:6]\n"
            "0 start value1[0:6] all_reduce of 6 among 0 1\n"
            "1 finish value1[0:6] all_reduce of 6 among 0 1\n"
            "read 0 value1[0:6]\n");
}

TEST(Redistribution, WhatAnEarlierReaderUsedIsReducedInACopy) {
  Request made({6}, 3);
  made.write({made.wholes()[0], made.wholes()[1]}, true);
  made.read({made.tile(2, {{1, 3}})});
  made.read({made.wholes()[0], made.wholes()[1]});
  std::string text = made.text(0);
  EXPECT_NE(text.find("assemble value2[0:6] <- written0[0:6]"), std::string::npos) << text;
}

TEST(Redistribution, AColumnSplitFeedsARowSplitAndItsSumIsReduced) {
  Request hidden({4, 8}, 2);  // columns of one layer are the inputs of the next
  hidden.write(hidden.parts(1));
  hidden.read(hidden.parts(1));
  EXPECT_TRUE(hidden.redistribute().in_place);
  Request output({4, 8}, 2);  // each has a term of the whole
  output.write(output.wholes(), true);
  output.read(output.wholes());
  Redistribution result = output.redistribute();
  ASSERT_EQ(result.messages.size(), 1u);
  EXPECT_EQ(result.messages[0].kind, Collective::all_reduce);
  EXPECT_EQ(result.messages[0].elements, 32);
}

TEST(Redistribution, EachSliceOfAParameterHasAnAllReduceOfItsOwn) {
  Request made({4}, 4);
  Bounds low{{0, 2}}, high{{2, 4}};
  Contribution& from =
      made.write({made.tile(0, low), made.tile(1, high), made.tile(2, low), made.tile(3, high)});
  from.terms = {0, 0, 1, 1};
  from.term_count = 2;
  made.read(made.request.from[0].tiles);
  EXPECT_EQ(made.text(2),
            "0 start written0[0:2] all_reduce of 2 among 2 0\n"
            "1 finish written0[0:2] all_reduce of 2 among 2 0\n"
            "read 0 written0[0:2]\n");
}

TEST(Redistribution, SlicesOfASumAreScattered) {
  Request made({4, 3}, 2);
  made.write(made.wholes(), true);
  made.read(made.parts(0));
  EXPECT_EQ(made.text(1),
            "0 assemble vector1[0:4,0:3] <- written0[0:4,0:3]\n"
            "0 start vector1[0:4,0:3] reduce_scatter of 12 among 1 0\n"
            "1 finish vector1[0:4,0:3] reduce_scatter of 12 among 1 0\n"
            "read 0 block2[2:4,0:3] at 6 of vector1[0:4,0:3]\n");
}

TEST(Redistribution, SlicesThatAreNotContiguousAreCutIntoBlocks) {
  Request made({2, 6}, 3);
  made.write(made.wholes(), true);
  made.read(made.parts(1));
  EXPECT_EQ(made.text(1),
            "0 assemble block2[0:2,2:4] at 4 of vector1[] <- written0[0:2,0:6][0:2,2:4]\n"
            "0 assemble block3[0:2,4:6] at 8 of vector1[] <- written0[0:2,0:6][0:2,4:6]\n"
            "0 assemble block4[0:2,0:2] at 0 of vector1[] <- written0[0:2,0:6][0:2,0:2]\n"
            "0 start vector1[] reduce_scatter of 12 among 1 2 0\n"
            "1 finish vector1[] reduce_scatter of 12 among 1 2 0\n"
            "read 0 block2[0:2,2:4] at 4 of vector1[]\n");
}

TEST(Redistribution, PartsInOrderAreGatheredWhereTheyAreRead) {
  Request made({6, 2}, 3);
  made.write(made.parts(0));
  made.read(made.wholes());
  EXPECT_EQ(made.text(1),
            "0 assemble block2[2:4,0:2] at 4 of vector1[0:6,0:2] <- written0[2:4,0:2]\n"
            "0 start vector1[0:6,0:2] all_gather of 12 among 1 2 0\n"
            "1 finish vector1[0:6,0:2] all_gather of 12 among 1 2 0\n"
            "read 0 vector1[0:6,0:2]\n");
}

TEST(Redistribution, ColumnsAreGatheredAsBlocksAndJoined) {
  Request made({2, 6}, 3);
  made.write(made.parts(1));
  made.read(made.wholes());
  EXPECT_EQ(made.text(1),
            "0 assemble block2[0:2,2:4] at 4 of vector1[] <- written0[0:2,2:4]\n"
            "0 start vector1[] all_gather of 12 among 1 2 0\n"
            "1 finish vector1[] all_gather of 12 among 1 2 0\n"
            "1 assemble value5[0:2,0:6] <- block2[0:2,2:4] at 4 of vector1[], "
            "block3[0:2,4:6] at 8 of vector1[], block4[0:2,0:2] at 0 of vector1[]\n"
            "read 0 value5[0:2,0:6]\n");
}

TEST(Redistribution, RowsBehindAWideDimensionAreJoined) {
  Request made({6}, 3);
  made.wide[0] = 2;
  made.request.frame.wide_before[0] = true;
  made.write(made.parts(0));
  made.read(made.wholes());
  EXPECT_NE(made.text(0).find("assemble value"), std::string::npos);
}

TEST(Redistribution, WhatALargerGatheringBringsIsNotGatheredAgain) {
  Request made({6}, 3);
  made.write(made.parts(0));
  std::vector<Touch> tiles{made.tile(0, {{0, 4}}), made.tile(1, {{0, 4}})};
  std::ranges::copy(made.wholes(), std::back_inserter(tiles));
  made.read(tiles);
  Redistribution result = made.redistribute();
  EXPECT_EQ(std::ranges::count(result.messages, Collective::all_gather, &Message::kind), 1);
}

TEST(Redistribution, InnerDevicesOfAHaloDoTheSame) {
  Request made({16}, 4);
  std::vector<Touch> tiles(4);
  for (std::int32_t at = 0; at < 4; ++at)
    tiles[at] = made.tile(at, {{std::max(4 * at - 1, 0), std::min(4 * at + 5, 16)}});
  made.write(made.parts(0));
  made.read(tiles);
  Redistribution result = made.redistribute();
  auto text = [&](std::int32_t device) {
    return describe(made.request, result, device, {.device = device, .begin = 4 * device});
  };
  EXPECT_EQ(text(1), text(2));
  EXPECT_NE(text(0), text(1));
  EXPECT_EQ(text(1),
            "0 assemble value1[3:4] <- written0[0:4][3:4]\n"
            "0 start value1[3:4] broadcast of 1 among 0 1\n"
            "0 assemble value2[0:1] <- written0[0:4][0:1]\n"
            "0 start value2[0:1] broadcast of 1 among 0 -1\n"
            "0 start value3[4:5] broadcast of 1 among 1 0\n"
            "0 start value4[-1:0] broadcast of 1 among -1 0\n"
            "1 finish value1[3:4] broadcast of 1 among 0 1\n"
            "1 finish value2[0:1] broadcast of 1 among 0 -1\n"
            "1 finish value3[4:5] broadcast of 1 among 1 0\n"
            "1 finish value4[-1:0] broadcast of 1 among -1 0\n"
            "1 assemble value5[-1:5] <- written0[0:4], value3[4:5], value4[-1:0]\n"
            "read 0 value5[-1:5]\n");
}

TEST(Redistribution, RowsThatEightNeedAsColumnsAreAnAllToAll) {
  Request made({8, 16}, 8);
  made.write(made.parts(0));
  made.read(made.parts(1));
  Redistribution result = made.redistribute();
  ASSERT_EQ(result.messages.size(), 1u);
  EXPECT_EQ(result.messages[0].kind, Collective::all_to_all);
  EXPECT_EQ(result.messages[0].elements, 16);
  EXPECT_EQ(result.ranges[3], (Range{6, 8}));
  // Seven blocks are filled, seven come, and the own one is read where it is.
  const Step& last = result.steps.back();
  EXPECT_EQ(last.input_count, 8);
  EXPECT_EQ(result.buffers[result.inputs[last.first_input].buffer].kind,
            PlacedBuffer::Kind::written);
}

TEST(Redistribution, FewDevicesTransferInsteadOfAnAllToAll) {
  Request made({8, 8}, 4);
  made.write(made.parts(0));
  made.read(made.parts(1));
  Redistribution result = made.redistribute();
  EXPECT_EQ(std::ranges::count(result.messages, Collective::broadcast, &Message::kind), 12);
}

TEST(Redistribution, SeveralReadersOfABoxGetOneBroadcast) {
  Request made({4}, 4);
  made.write({made.tile(1, made.whole())});
  made.read(made.wholes());
  EXPECT_EQ(made.text(1),
            "0 start written0[0:4] broadcast of 4 among 1 2 3 0\n"
            "1 finish written0[0:4] broadcast of 4 among 1 2 3 0\n"
            "read 0 written0[0:4]\n");
  EXPECT_EQ(made.text(3),
            "0 start value0[0:4] broadcast of 4 among 1 2 3 0\n"
            "1 finish value0[0:4] broadcast of 4 among 1 2 3 0\n"
            "read 0 value0[0:4]\n");
}

/// By device: the root of the message that it receives; -1: none.
std::vector<std::int32_t> senders(const Redistribution& result, std::int32_t devices) {
  std::vector<std::int32_t> found(static_cast<std::size_t>(devices), -1);
  for (const Message& message : result.messages)
    for (std::int32_t at = 1; at < message.members; ++at)
      found[result.members[message.first_member + at].device] =
          result.members[message.first_member].device;
  return found;
}

TEST(Redistribution, TheNearestReplicaServesAndEqualOnesTakeTurns) {
  Request made({4}, 8);
  made.process = {0, 0, 1, 1, 2, 2, 3, 3};
  made.node = {0, 0, 0, 0, 1, 1, 1, 1};
  made.write({made.tile(0, made.whole()), made.tile(6, made.whole()), made.tile(7, made.whole())});
  made.read(made.wholes());
  EXPECT_EQ(senders(made.redistribute(), 8),
            (std::vector<std::int32_t>{-1, 0, 0, 0, 6, 7, -1, -1}));
}

TEST(Redistribution, ManyReplicasServeAsFewDo) {
  Request made({4}, 160);
  std::vector<Touch> holders;
  for (std::int32_t device = 0; device < 160; ++device) {
    made.process[device] = device / 4;
    made.node[device] = device / 16;
    if (device % 16 >= 12 || device < 16) continue;  // no holder in the first node
    if (device % 4 < 2) holders.push_back(made.tile(device, made.whole()));
  }
  made.write(holders);
  made.read(made.wholes());
  std::vector<std::int32_t> found = senders(made.redistribute(), 160);
  EXPECT_EQ(found[5], holders[5].device);  // nobody is near: the fifth reader
  EXPECT_EQ(found[18], 16);                // in its process
  EXPECT_EQ(found[19], 17);
  EXPECT_EQ(found[29], 16 + 29 % 6 / 2 * 4 + 29 % 6 % 2);  // in its node: six of them
  EXPECT_EQ(found[17], -1);
}

TEST(Redistribution, LaterReadersFindWhatEarlierOnesBrought) {
  Request made({6}, 3);
  made.write(made.parts(0));
  made.read(made.wholes());
  made.read(made.wholes());
  made.read({made.tile(2, {{1, 3}})});
  Redistribution result = made.redistribute();
  EXPECT_EQ(result.messages.size(), 1u);
  EXPECT_EQ(result.reads[0], result.reads[1]);
  EXPECT_NE(describe(made.request, result, 2).find("3 assemble value3[1:3] <- vector1[0:6][1:3]\n"),
            std::string::npos);
}

TEST(Redistribution, WhatNobodyWritesIsZero) {
  Request made({6}, 2);
  made.write({made.tile(0, {{0, 2}})});
  made.read({made.tile(1, {{3, 5}}), made.tile(0, {{1, 4}})});
  EXPECT_EQ(made.text(1), "read 0 zeros0[3:5]\n");
  EXPECT_EQ(made.text(0),
            "1 assemble value1[1:4] <- written0[0:2][1:2]\n"
            "read 0 value1[1:4]\n");
}

}  // namespace
}  // namespace troika
