// Ranks that make different calls, or do not come to one, under the heartbeat's rules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/heartbeat/virtual_net_test.h"

namespace troika {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class DifferentCalls : public testing::TestWithParam<int> {};

TEST_P(DifferentCalls, ADifferentCallIsNamedOnAllRanksWithBothSides) {
  int ranks = GetParam();
  for (int odd = 0; odd < ranks; ++odd) {
    Net net(ranks, {}, static_cast<std::uint64_t>(odd) + 1);
    begin_everywhere(net, ranks, "barrier");
    for (int rank = 0; rank < ranks; ++rank) {
      HeartbeatCore& core = net.core(rank);
      int group = core.watch({"world", first(ranks)}, net.now());
      core.begin(core.describe(group, rank == odd ? "sum of 999 f32" : "sum of 1000 f32"),
                 net.now());
    }
    net.run_for(milliseconds(1000));
    for (int rank = 0; rank < ranks; ++rank) {
      EXPECT_THAT(net.verdict(rank),
                  AllOf(HasSubstr("disagree in call 2 of group 'world'"),
                        HasSubstr("rank " + std::to_string(odd) + " calls sum of 999 f32"),
                        HasSubstr("calls sum of 1000 f32")));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, DifferentCalls, testing::Values(2, 3, 4, 8, 33));

TEST(HeartbeatCalls, FindsADifferenceWhenOneRankIsAheadByManyCalls) {
  Net net(2);
  for (int rank : {0, 1}) {
    HeartbeatCore& core = net.core(rank);
    int group = core.watch({"world", {0, 1}}, net.now());
    CallId a = core.describe(group, "a"), b = core.describe(group, "b");
    for (int round = 0; round < (rank == 0 ? 60 : 20); ++round) core.begin(a, net.now());
    if (rank == 1) core.begin(b, net.now());
  }
  net.run_for(milliseconds(300));
  for (int rank : {0, 1}) {
    EXPECT_THAT(net.verdict(rank), AllOf(HasSubstr("call 21"), HasSubstr("rank 0 calls a"),
                                         HasSubstr("rank 1 calls b")));
  }
}

TEST(HeartbeatCalls, FindsADifferenceAmongCallsFasterThanFrames) {
  Net net(2);
  for (int rank : {0, 1}) {
    HeartbeatCore& core = net.core(rank);
    int group = core.watch({"world", {0, 1}}, net.now());
    CallId a = core.describe(group, "a"), b = core.describe(group, "b");
    core.begin(rank == 0 ? a : b, net.now());
  }
  for (int time = 0; time < 800 && net.verdict(0).empty(); ++time) {
    for (int rank : {0, 1}) {
      for (int call = 0; call < 500; ++call) net.core(rank).begin({0, 0}, net.now());
    }
    net.run_for(milliseconds(1));
  }
  EXPECT_THAT(net.verdict(0), HasSubstr("disagree in the calls of group 'world' before number"));
}

TEST(HeartbeatCalls, TakesTwoCallsInTheOtherOrderForDifferent) {
  Net net(2);
  for (int rank : {0, 1}) {
    HeartbeatCore& core = net.core(rank);
    int group = core.watch({"world", {0, 1}}, net.now());
    CallId a = core.describe(group, "a"), b = core.describe(group, "b");
    core.begin(rank == 0 ? a : b, net.now());
    core.begin(rank == 0 ? b : a, net.now());
  }
  net.run_for(milliseconds(300));
  EXPECT_THAT(net.verdict(0), HasSubstr("disagree in call 2"));
  EXPECT_THAT(net.verdict(1), HasSubstr("disagree in call 2"));
}

TEST(HeartbeatCalls, AllowsARankToBeAheadByOneCall) {
  Net net(2);
  for (int round = 0; round < 5; ++round) {
    for (int rank : {0, 1}) {
      HeartbeatCore& core = net.core(rank);
      int group = core.watch({"world", {0, 1}}, net.now());
      core.begin(core.describe(group, "call " + std::to_string(round)), net.now());
      net.run_for(milliseconds(250));
    }
  }
  EXPECT_EQ(net.verdict(0) + net.verdict(1), "");
}

TEST(HeartbeatCalls, WatchesMembersOfAGroupThatAreFarApart) {
  Net net(64);
  net.run_for(milliseconds(100));
  for (int rank : {0, 11, 37}) {
    HeartbeatCore& core = net.core(rank);
    int group = core.watch({"three", {0, 11, 37}}, net.now());
    core.begin(core.describe(group, rank == 37 ? "b" : "a"), net.now());
    net.apply(rank);
  }
  net.run_for(milliseconds(1000));
  for (int rank = 0; rank < 64; ++rank) {
    EXPECT_THAT(net.verdict(rank), HasSubstr("rank 37 calls b")) << rank;
  }
}

TEST(HeartbeatCalls, NamesWhoDidNotComeToACall) {
  Net net(3, {.stall = std::chrono::seconds(5)});
  begin_everywhere(net, 3, "a");
  for (int rank : {0, 1}) {
    HeartbeatCore& core = net.core(rank);
    core.begin(core.describe(core.watch({"world", first(3)}, net.now()), "b"), net.now());
  }
  net.run_for(milliseconds(4900));
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(net.verdict(rank), "");
  net.run_for(milliseconds(500));
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_THAT(net.verdict(rank),
                AllOf(HasSubstr("to which rank 2 has not come"), HasSubstr("in call 2"),
                      HasSubstr("it is alive, in call 1 of group 'world' (a)")));
  }
}

TEST(HeartbeatCalls, NamesWhoLeftWhileOthersWaitForIt) {
  Net net(3);
  begin_everywhere(net, 3, "a");
  net.run_for(milliseconds(300));
  net.core(2).leave();
  net.apply(2);
  net.kill(2);
  net.run_for(milliseconds(500));
  EXPECT_EQ(net.verdict(0), "") << "all came to the call before one left";
  for (int rank : {0, 1}) {
    HeartbeatCore& core = net.core(rank);
    core.begin(core.describe(core.watch({"world", first(3)}, net.now()), "b"), net.now());
  }
  net.run_for(milliseconds(500));
  for (int rank : {0, 1})
    EXPECT_THAT(net.verdict(rank), HasSubstr("rank 2 has left after 1 calls"));
}

}  // namespace
}  // namespace troika
