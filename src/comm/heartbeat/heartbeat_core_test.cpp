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
  begin_everywhere(net, 9, "a step of 'train'");
  net.run_for(std::chrono::minutes(10));  // all in the same call: it takes as long as it takes
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
    if (ranks == 512) {
      EXPECT_EQ(most, 17) << "as docs/mpi.md says";
    }
    EXPECT_LE(steps[open.back()], 9);
  }
}

TEST(HeartbeatCore, TellsTheOthersWhyARankGivesUp) {
  Net net(4);
  net.run_for(milliseconds(300));
  net.core(2).fail({"its disk is full", 3}, net.now());
  net.apply(2);
  net.run_for(milliseconds(50));  // at once: it is nobody else's fault
  for (int rank : {0, 1, 3}) {
    EXPECT_THAT(net.verdict(rank),
                AllOf(HasSubstr("rank 2 gave up"), HasSubstr("its disk is full")));
    EXPECT_EQ(net.exit_code(rank), 5);
  }
  EXPECT_EQ(net.verdict(2), "its disk is full (rank 2 was in no call yet)");
  EXPECT_EQ(net.exit_code(2), 3) << "its own code";
}

TEST(HeartbeatCore, PrefersTheTrueCauseToItsConsequences) {
  Net net(4);
  net.run_for(milliseconds(300));
  net.core(0).fail({"MPI says something vague", 5}, net.now());
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
  HeartbeatCore core(0, 2, {}, SteadyTime::zero());
  core.linked(1, SteadyTime::zero());
  core.tick(milliseconds(100));
  core.tick(milliseconds(60'000));  // the machine slept
  core.tick(milliseconds(60'100));
  EXPECT_FALSE(core.failed());
  for (int time = 60'200; time < 63'000; time += 100) core.tick(milliseconds(time));
  EXPECT_TRUE(core.failed());
}

TEST(HeartbeatCore, ItsOwnSleepIsNoStallOfAPeer) {
  HeartbeatCore core(0, 2, {}, SteadyTime::zero());
  int group = core.watch({"world", {0, 1}}, SteadyTime::zero());
  core.linked(1, SteadyTime::zero());
  core.begin(core.describe(group, "a"), SteadyTime::zero());
  core.tick(milliseconds(100));
  core.received(1, AliveFrame{},
                milliseconds(70'000));  // it slept, too, and comes to the call soon
  core.tick(milliseconds(70'000));
  EXPECT_FALSE(core.failed());
  for (int time = 70'100; time < 140'000; time += 100) {
    core.received(1, AliveFrame{}, milliseconds(time));
    core.tick(milliseconds(time));
    if (time < 129'000) {
      ASSERT_FALSE(core.failed()) << time;
    }
  }
  EXPECT_TRUE(core.failed()) << "awake it waits for 60 s as ever";
}

TEST(HeartbeatCore, AFrameBeforeALateTickIsNotHeardInTheFuture) {
  HeartbeatCore core(0, 2, {}, SteadyTime::zero());
  core.linked(1, SteadyTime::zero());
  core.tick(milliseconds(100));
  core.received(1, AliveFrame{}, milliseconds(60'000));
  core.tick(milliseconds(60'000));
  int failed_at = 0;
  for (int time = 60'100; failed_at == 0 && time < 80'000; time += 100) {
    core.tick(milliseconds(time));
    if (core.failed()) failed_at = time;
  }
  EXPECT_GT(failed_at, 62'000);
  EXPECT_LE(failed_at, 62'100) << "silent since it woke";
}

TEST(HeartbeatCore, SaysWhichPeerCannotBeReached) {
  HeartbeatCore core(0, 2, {.join = std::chrono::seconds(3)}, SteadyTime::zero());
  for (int time = 0; time < 3300; time += 100) {
    core.tick(milliseconds(time));
    for (const Effect& effect : core.take_effects()) {
      if (std::holds_alternative<ConnectEffect>(effect)) core.unreachable(1);
      if (const auto* fail = std::get_if<FailEffect>(&effect)) {
        EXPECT_THAT(fail->verdict.sentence, HasSubstr("rank 1 could not be reached by rank 0"));
        EXPECT_GT(time, 3000);
      }
    }
  }
  EXPECT_TRUE(core.failed());
}

}  // namespace
}  // namespace troika
