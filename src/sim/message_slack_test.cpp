#include "sim/message_slack.h"

#include <gtest/gtest.h>

#include "sim/testing/loop_bodies.h"

namespace troika {
namespace {

std::vector<std::int64_t> slack_of(const HandMadeLoop& loop) {
  std::vector<std::int64_t> all;
  for (SimTime slack : find_slack(loop.get(), find_period(loop.get()))) all.push_back(slack.count);
  return all;
}

/// Lane 0 computes 10 and sends messages 0 and 1 over one link to lanes 1 and 2. These compute 20
/// and 60 and answer with messages 2 and 3, for which lane 0 waits.
HandMadeLoop fork_and_join(std::uint64_t urgency_of_second) {
  HandMadeLoop loop(3, 3);
  loop.phase(0, {{0, {50}}}).phase(1, {{0, {30}}}).phase(2, {{1, {5}}}).phase(3, {{2, {5}}});
  loop.urgency(1, urgency_of_second).order(1, 1);
  loop.start(0, 2).start(0, 3).compute(0, 10).start(0, 0).start(0, 1);
  loop.finish(0, 0).finish(0, 1).finish(0, 2).finish(0, 3);
  loop.start(1, 0).finish(1, 0).compute(1, 20).start(1, 2).finish(1, 2);
  loop.start(2, 1).finish(2, 1).compute(2, 60).start(2, 3).finish(2, 3);
  return loop;
}

TEST(MessageSlack, IsZeroOnTheChainThatDecidesThePeriod) {
  // The first message ends at 60, the second at 90; lanes 1 and 2 answer at 85 and 155.
  HandMadeLoop loop = fork_and_join(0);
  EXPECT_EQ(loop.period(), 155);
  EXPECT_EQ(slack_of(loop), (std::vector<std::int64_t>{70, 0, 70, 0}));
}

TEST(MessageSlack, TellsWhichMessageShouldGoFirst) {
  // The second message ends at 40, the first at 90; the answers come at 115 and 105.
  HandMadeLoop loop = fork_and_join(1);
  EXPECT_EQ(loop.period(), 115);
  EXPECT_EQ(slack_of(loop), (std::vector<std::int64_t>{0, 10, 0, 10}));
}

TEST(MessageSlack, IsFoundAcrossTheEndOfAPass) {
  // Message 0 starts at 60 and is needed 40 into the next pass. Alone it takes 10.
  HandMadeLoop loop(1, 1);
  loop.phase(0, {{0, {10}}});
  loop.compute(0, 40).finish(0, 0, 1).compute(0, 20).start(0, 0);
  EXPECT_EQ(loop.period(), 60);
  EXPECT_EQ(slack_of(loop), std::vector<std::int64_t>{30});
}

TEST(MessageSlack, OfALaggingMessageIsFoundEvenIfNothingElseHasAny) {
  // Lane 0 starts message 0 last and finishes it 30 after it is over in the next pass.
  HandMadeLoop loop(1, 1);
  loop.phase(0, {{0, {10}}});
  loop.compute(0, 40).finish(0, 0, 1).start(0, 0);
  EXPECT_EQ(loop.period(), 40);
  EXPECT_EQ(slack_of(loop), std::vector<std::int64_t>{30});
}

TEST(MessageSlack, EndsWithThePassOfTheProcess) {
  // Lane 0 is done at 30, lane 1 at 100; 5 later both begin their next pass.
  HandMadeLoop loop(2, 1);
  loop.phase(0, {{0, {30}}}).process({0, 1}, 5);
  loop.start(0, 0).compute(0, 10).finish(0, 0).compute(1, 100);
  EXPECT_EQ(loop.period(), 105);
  EXPECT_EQ(slack_of(loop), std::vector<std::int64_t>{70});
}

TEST(MessageSlack, OfLanesThatNobodyWaitsForIsManyPeriods) {
  // Lanes 0 and 1 take 15 for a step and run ahead of lane 2, which takes 100.
  HandMadeLoop loop(3, 1);
  loop.phase(0, {{0, {5}}});
  loop.compute(0, 10).start(0, 0).finish(0, 0).start(1, 0).finish(1, 0).compute(2, 100);
  EXPECT_EQ(loop.period(), 100);
  EXPECT_GT(slack_of(loop)[0], 10 * 100);
}

}  // namespace
}  // namespace troika
