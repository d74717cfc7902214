// Ranks that are killed or stopped, under the heartbeat's rules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/test_effort.h"
#include "comm/heartbeat/virtual_net_test.h"

namespace troika {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class HeartbeatFaults : public testing::TestWithParam<int> {};

TEST_P(HeartbeatFaults, AKilledRankIsNamedByAllOthersWithinASecond) {
  const std::uint64_t seeds = asks_less() ? 2 : 8;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    int ranks = GetParam();
    Net net(ranks, {}, seed);
    begin_everywhere(net, ranks, "all_reduce of 5 f32");
    net.run_for(milliseconds(500 + static_cast<int>(seed) * 37));
    int victim = static_cast<int>(seed) % ranks;
    net.kill(victim);
    net.run_for(milliseconds(1000));
    for (int rank = 0; rank < ranks; ++rank) {
      if (rank == victim) continue;
      EXPECT_THAT(net.verdict(rank),
                  AllOf(HasSubstr("rank " + std::to_string(victim) + " is lost"),
                        HasSubstr("call 1 of group 'world' (all_reduce of 5 f32)")));
    }
  }
}

TEST_P(HeartbeatFaults, AStoppedRankIsNamedByAllOthersWithinThreeSeconds) {
  const std::uint64_t seeds = asks_less() ? 2 : 8;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    int ranks = GetParam();
    Net net(ranks, {}, seed);
    begin_everywhere(net, ranks, "all_reduce of 5 f32");
    net.run_for(milliseconds(500 + static_cast<int>(seed) * 37));
    int victim = static_cast<int>(seed) % ranks;
    net.stop(victim);
    net.run_for(milliseconds(1500));
    for (int rank = 0; rank < ranks; ++rank) EXPECT_EQ(net.verdict(rank), "");
    net.run_for(milliseconds(1500));
    for (int rank = 0; rank < ranks; ++rank) {
      if (rank == victim) continue;
      EXPECT_THAT(net.verdict(rank), HasSubstr("rank " + std::to_string(victim) + " is lost"));
    }
    net.go_on(victim);
    net.run_for(milliseconds(500));
    EXPECT_NE(net.verdict(victim), "") << "it learns that the others have given up";
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, HeartbeatFaults, testing::Values(2, 3, 4, 8, 33));

}  // namespace
}  // namespace troika
