#include "taskgraph/time_use.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "taskgraph/critical_path.h"
#include "taskgraph/testing/loop.h"

namespace troika {
namespace {

using testing::ElementsAre;

/// A task by name, with when it ran.
struct Ran {
  std::string name;
  std::int64_t start, end;
};

Timeline ran_at(Loop& loop, const std::vector<Ran>& all) {
  Timeline timeline;
  for (const Ran& ran : all) {
    const Task& task = loop[ran.name];
    timeline.spans.push_back({task.id, task.device, {ran.start}, {ran.end}});
  }
  return timeline;
}

LoopPass pass_at(Loop& loop, std::int64_t period, const std::vector<Ran>& all) {
  return pass_of(loop.graph, ran_at(loop, all), {period}, messages_of(loop.graph));
}

TimeShare share(TimeUse use, std::int64_t time) { return {use, {}, {time}}; }
TimeShare share(TimeUse use, Collective kind, std::int64_t time) { return {use, kind, {time}}; }

/// Device 0 computes y for 30 and sends it; device 1 has computed w for 10 and then waits.
Loop sender() {
  Loop loop;
  loop.input("x");
  loop.sum("y", {"x", "x"}, 0);
  loop.sum("w", {"v", "v"}, 0, 1);
  loop.half("y", TaskKind::start, 0, 0);
  loop.half("y", TaskKind::start, 1, 0);
  loop.half("y", TaskKind::finish, 1, 0);
  loop.half("y", TaskKind::finish, 0, 0);
  loop.sum("z", {"y", "w"}, 0, 1).is_update = true;
  return loop;
}
const std::vector<Ran> kSent{{"y", 0, 30},          {"w", 0, 10},           {"y start 0", 30, 30},
                             {"y start 1", 10, 10}, {"y finish 0", 32, 37}, {"y finish 1", 10, 37},
                             {"z", 40, 55}};

TEST(TimeUse, OfADeviceAddsUpToThePeriodByCause) {
  Loop loop = sender();
  std::vector<DeviceTime> used = time_use(loop.graph, pass_at(loop, 60, kSent));
  ASSERT_EQ(used.size(), 2u);
  EXPECT_EQ(used[0].whole, SimTime{60});
  EXPECT_THAT(used[0].shares, ElementsAre(share(TimeUse::compute, 30),
                                          share(TimeUse::message, Collective::broadcast, 5),
                                          share(TimeUse::moving, 2), share(TimeUse::step_end, 23)));
  EXPECT_EQ(used[1].whole, SimTime{60});
  EXPECT_THAT(used[1].shares,
              ElementsAre(share(TimeUse::compute, 10), share(TimeUse::optimizer, 15),
                          share(TimeUse::late_peer, Collective::broadcast, 20),
                          share(TimeUse::message, Collective::broadcast, 7),
                          share(TimeUse::other, 3), share(TimeUse::step_end, 5)));
  EXPECT_EQ(used[1].busy(), SimTime{25});
}

TEST(TimeUse, OfAPassThatTookLongerThanThePeriodIsThePass) {
  Loop loop = sender();
  for (const DeviceTime& used : time_use(loop.graph, pass_at(loop, 45, kSent))) {
    EXPECT_EQ(used.whole, SimTime{used.device == DeviceId(0u) ? 45 : 55});
    SimTime sum;
    for (const TimeShare& share : used.shares) sum += share.time;
    EXPECT_EQ(sum, used.whole);
  }
}

/// In `pipeline` device 1 works on y of the step before.
const std::vector<Ran> kPiped{{"y", 0, 40},        {"y start 0", 40, 40}, {"y finish 0", 40, 40},
                              {"y start 1", 0, 0}, {"y finish 1", 0, 15}, {"z", 15, 30},
                              {"last", 30, 50}};

TEST(TimeUse, OfAMessageThatLagsBeginsInThePassBefore) {
  Loop loop = pipeline();
  std::vector<DeviceTime> used = time_use(loop.graph, pass_at(loop, 50, kPiped));
  ASSERT_EQ(used.size(), 2u);
  // The sender started at 40 - 50, the receiver at 0: all of its wait is the message's.
  EXPECT_THAT(used[1].shares, ElementsAre(share(TimeUse::compute, 35),
                                          share(TimeUse::message, Collective::broadcast, 15)));
  // The message of the step before is under way all along.
  EXPECT_THAT(used[0].shares,
              ElementsAre(share(TimeUse::compute, 40), share(TimeUse::step_end, 10)));
}

TEST(TimeUse, OfOneStepFromRestHasAllOfItsMessagesInIt) {
  Loop loop = pipeline();
  LoopPass pass = pass_at(loop, 105,
                          {{"y", 0, 40},
                           {"y start 0", 40, 40},
                           {"y finish 0", 40, 55},
                           {"y start 1", 0, 0},
                           {"y finish 1", 0, 55},
                           {"z", 55, 75},
                           {"last", 75, 105}});
  pass.is_one_step = true;
  std::vector<DeviceTime> used = time_use(loop.graph, pass);
  EXPECT_THAT(used[1].shares, ElementsAre(share(TimeUse::compute, 50),
                                          share(TimeUse::late_peer, Collective::broadcast, 40),
                                          share(TimeUse::message, Collective::broadcast, 15)));
  EXPECT_EQ(critical_path(loop.graph, pass).size(), 4u);
}

std::vector<std::string> texts(const Loop& loop, const std::vector<PathPart>& path) {
  std::vector<std::string> all;
  for (const PathPart& part : path) {
    const char* kind = part.kind == PathPart::Kind::gap       ? "gap after "
                       : part.kind == PathPart::Kind::message ? "message of "
                                                              : "";
    all.push_back(kind + loop.graph.tasks[part.task].name + " " + std::to_string(part.start.count) +
                  "-" + std::to_string(part.end.count));
  }
  return all;
}

TEST(CriticalPath, FollowsMessagesToTheDeviceThatStartedLast) {
  Loop loop = sender();
  EXPECT_THAT(texts(loop, critical_path(loop.graph, pass_at(loop, 60, kSent))),
              ElementsAre("gap after y finish 0 -5-0", "y 0-30", "message of y finish 1 30-37",
                          "gap after y finish 1 37-40", "z 40-55"));
}

TEST(CriticalPath, DoesNotFollowAMessageThatNobodyWaitedFor) {
  Loop loop = sender();
  LoopPass pass = pass_at(loop, 60, kSent);
  pass.message_end = {27};  // all that the finish took
  EXPECT_THAT(texts(loop, critical_path(loop.graph, pass)),
              ElementsAre("gap after z -5-0", "w 0-10", "y finish 1 10-37",
                          "gap after y finish 1 37-40", "z 40-55"));
}

TEST(CriticalPath, GoesBackIntoThePassBeforeAndAddsUpToThePeriod) {
  Loop loop = pipeline();
  LoopPass pass = pass_at(loop, 50, kPiped);
  pass.period = {70};
  EXPECT_THAT(
      texts(loop, critical_path(loop.graph, pass)),
      ElementsAre("gap after last -20-0", "message of y finish 1 0-15", "z 15-30", "last 30-50"));
}

TEST(CriticalPath, OfNothingIsEmpty) {
  Loop loop = sender();
  EXPECT_THAT(critical_path(loop.graph, pass_at(loop, 60, {})), ElementsAre());
  EXPECT_THAT(critical_path(loop.graph, pass_at(loop, 0, {{"w", 0, 0}})), ElementsAre());
}

TEST(LoopPass, LeavesOutTasksOfOtherGraphs) {
  Loop loop = sender();
  Timeline timeline = ran_at(loop, {{"w", 0, 10}});
  timeline.spans.push_back({{7, 7}, DeviceId(0u), {}, {5}});
  LoopPass pass = pass_of(loop.graph, timeline, {10}, messages_of(loop.graph));
  ASSERT_EQ(pass.rows.size(), 1u);
  EXPECT_EQ(pass.rows[0].device, DeviceId(1u));
}

TEST(LoopPass, NamesKindsOfTasks) {
  Loop loop = sender();
  EXPECT_EQ(kind_of(loop.graph, loop["y"]), "sum forward");
  EXPECT_EQ(kind_of(loop.graph, loop["y start 0"]), "broadcast start");
  EXPECT_EQ(kind_of(loop.graph, loop["y finish 0"]), "broadcast");
}

}  // namespace
}  // namespace troika
