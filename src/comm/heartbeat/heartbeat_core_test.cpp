#include "comm/heartbeat/heartbeat_core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/heartbeat/virtual_net_test.h"

namespace troika {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(HeartbeatCore, LetsHealthyRanksRunForEver) {
  Net net(9);
  begin_everywhere(net, 9, "all_reduce of 5 f32");
  net.run_for(milliseconds(30'000));
  for (int rank = 0; rank < 9; ++rank) {
    EXPECT_TRUE(net.core(rank).joined());
    EXPECT_EQ(net.verdict(rank), "");
  }
}

TEST(HeartbeatCore, HasFewNeighboursAndShortWays) {
  for (int ranks : {1, 2, 3, 7, 64, 512}) {
    int most = 0;
    std::vector<int> steps(ranks, -1), open{0};
    steps[0] = 0;
    for (std::size_t at = 0; at < open.size(); ++at) {
      auto near = neighbours_of(open[at], first(ranks));
      most = std::max(most, static_cast<int>(near.size()));
      for (int other : near) {
        auto back = neighbours_of(other, first(ranks));
        EXPECT_TRUE(std::ranges::count(back, open[at])) << "neighbours see each other";
        if (steps[other] >= 0) continue;
        steps[other] = steps[open[at]] + 1;
        open.push_back(other);
      }
    }
    EXPECT_EQ(static_cast<int>(open.size()), ranks);
    EXPECT_LE(most, 18);
    EXPECT_LE(steps[open.back()], 9);
  }
}

TEST(HeartbeatCore, TellsTheOthersWhyARankGivesUp) {
  Net net(4);
  net.run_for(milliseconds(300));
  net.core(2).fail("its disk is full", net.now());
  net.run_for(milliseconds(700));
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_THAT(net.verdict(rank),
                AllOf(HasSubstr("rank 2 gave up"), HasSubstr("its disk is full")));
  }
}

TEST(HeartbeatCore, PrefersTheTrueCauseToItsConsequences) {
  Net net(4);
  net.run_for(milliseconds(300));
  net.core(0).fail("MPI says something vague", net.now());
  net.core(1).terminate("was told to stop (SIGTERM)", net.now());
  net.kill(3);
  net.run_for(milliseconds(700));
  for (int rank : {0, 1, 2}) EXPECT_THAT(net.verdict(rank), HasSubstr("rank 3 is lost"));
}

TEST(HeartbeatCore, SaysThatItWasToldToStopWhenNothingElseIsKnown) {
  Net net(2);
  net.run_for(milliseconds(300));
  net.core(0).terminate("was told to stop (SIGTERM)", net.now());
  net.run_for(milliseconds(500));
  EXPECT_THAT(net.verdict(0), HasSubstr("rank 0 was told to stop (SIGTERM)"));
}

TEST(HeartbeatCore, BlamesNobodyForItsOwnLateness) {
  HeartbeatCore core(0, 2, {}, Moment::zero());
  core.linked(1, Moment::zero());
  core.tick(milliseconds(100));
  core.tick(milliseconds(60'000));  // the machine slept
  core.tick(milliseconds(60'100));
  EXPECT_FALSE(core.failed());
  for (int time = 60'200; time < 63'000; time += 100) core.tick(milliseconds(time));
  EXPECT_TRUE(core.failed());
}

TEST(HeartbeatCore, SaysWhichPeerCannotBeReached) {
  HeartbeatCore core(0, 2, {.join = std::chrono::seconds(3)}, Moment::zero());
  for (int time = 0; time < 3300; time += 100) {
    core.tick(milliseconds(time));
    for (const Effect& effect : core.take_effects()) {
      if (std::holds_alternative<ConnectEffect>(effect)) core.unreachable(1);
      if (const auto* fail = std::get_if<FailEffect>(&effect)) {
        EXPECT_THAT(fail->sentence, HasSubstr("rank 1 could not be reached by rank 0"));
        EXPECT_GT(time, 3000);
      }
    }
  }
  EXPECT_TRUE(core.failed());
}

}  // namespace
}  // namespace troika
