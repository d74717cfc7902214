#include "comm/pair_tags.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "collective/algorithms.h"

namespace troika {
namespace {

TEST(PairTags, BothDevicesOfAPairNumberTheirMessagesAlike) {
  for (const Algorithm& algorithm : algorithms()) {
    for (int members : {2, 3, 4, 7, 8}) {
      CollectiveCall call =
          equal_parts(algorithm.kind, members, algorithm.kind == Collective::barrier ? 0 : 100);
      call.segment = 9;
      if (algorithm.why_not(call)) continue;
      std::vector<DeviceId> devices;
      for (int member = 0; member < members; ++member)
        devices.emplace_back(static_cast<std::size_t>(members - member));
      ChannelTags seen;
      for (int member = 0; member < members; ++member) {
        PairTags tags(5);
        MemberMoves moves = make_moves(call, algorithm.name, member);
        tags.take(moves, {member, devices});
        for (const auto& [channel, tag] : tags.take(moves, {member, devices})) {
          EXPECT_EQ(seen.try_emplace(channel, tag).first->second, tag) << algorithm.name;
          EXPECT_GT(tag, 5U) << "the first operation has tags, too";
        }
      }
    }
  }
}

TEST(PairTags, OperationsOfOtherDevicesTakeNoTags) {
  DeviceId a(std::size_t{0}), b(std::size_t{1}), c(std::size_t{2});
  CollectiveCall call = equal_parts(Collective::all_reduce, 2, 100);
  MemberMoves moves = make_moves(call, "ring", 0);
  PairTags tags;
  std::vector<DeviceId> with_b{a, b}, with_c{a, c};
  ChannelTags first = tags.take(moves, {0, with_b});
  EXPECT_EQ((first.at({a, b})), 0U);
  EXPECT_EQ((tags.take(moves, {0, with_c}).at({a, c})), 0U);
  EXPECT_EQ((tags.take(moves, {0, with_b}).at({a, b})),
            std::ranges::count(moves.moves, MoveKind::send, &Move::kind));
}

}  // namespace
}  // namespace troika
