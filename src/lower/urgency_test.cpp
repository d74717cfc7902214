// How urgent messages are: by the turn of their first reader.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "lower/testing/found_messages.h"

namespace troika {
namespace {

/// Messages are needed in the order in which their finishes stand.
void expect_urgent_in_order(const TaskGraph& tasks) {
  ASSERT_FALSE(tasks.communications.empty());
  for (const Communication& a : tasks.communications)
    for (const Communication& b : tasks.communications) {
      if (a.urgency <= b.urgency) continue;
      EXPECT_LT(place_of(tasks, a, TaskKind::finish, 0), place_of(tasks, b, TaskKind::finish, 0))
          << a.name << " is more urgent than " << b.name;
    }
}

TEST(Urgency, WhatIsNeededSoonerIsMoreUrgent) {
  TaskGraph tasks = OneMessagePerGradient().run();
  expect_urgent_in_order(tasks);
  std::set<std::uint64_t> urgencies;
  for (const Communication& message : tasks.communications) urgencies.insert(message.urgency);
  EXPECT_EQ(urgencies.size(), tasks.communications.size());
}

/// With clipping, sums of gradients are needed in their own step although updates are carried.
TEST(Urgency, OfSlicedUpdatesIsThatOfTheirReaders) {
  for (double clip_norm : {0.0, 1.0})
    for (bool overlap : {true, false}) {
      OneMessagePerGradient lowered;
      lowered.strategy.sync.sliced_update = true;
      lowered.strategy.sync.overlap = overlap;
      lowered.optimizer.clip_norm = clip_norm;
      expect_urgent_in_order(lowered.run());
    }
}

TEST(Urgency, IsTheSameForAllWithoutPriorities) {
  OneMessagePerGradient lowered;
  lowered.strategy.sync.priorities = false;
  for (const Communication& message : lowered.run().communications)
    EXPECT_EQ(message.urgency, 0u) << message.name;
}

TEST(Urgency, DoesNotDependOnOtherMessages) {
  auto urgencies = [](Bytes bucket) {
    OnDevices lowered(2, data_parallel);
    lowered.strategy.sync.bucket = bucket;
    std::map<std::string, std::uint64_t> found;
    for (const Communication& message : lowered.run().communications)
      found[message.name] = message.urgency;
    return found;
  };
  std::map<std::string, std::uint64_t> alone = urgencies({1}), joined = urgencies({2 * 64});
  ASSERT_TRUE(alone.contains("d a.weight all_reduce") && joined.contains("d a.weight all_reduce"));
  EXPECT_LT(joined.size(), alone.size());
  for (const auto& [name, urgency] : joined) {
    if (!alone.contains(name)) continue;
    EXPECT_EQ(urgency, alone[name]) << name;
  }
}

TEST(Urgency, OfListedMessagesIsTheirOrderAndTheOthersFollowByTurn) {
  OneMessagePerGradient lowered;
  std::map<std::string, std::uint64_t> by_turn, listed;
  for (const Communication& message : lowered.run().communications)
    by_turn[message.name] = message.urgency;
  const std::string first = "d b.weight all_reduce", second = "d a.weight all_reduce";
  ASSERT_LT(by_turn.at(first), by_turn.at(second));
  lowered.strategy.sync.message_order = {"d b.weight", "d a.weight"};
  for (const Communication& message : lowered.run().communications)
    listed[message.name] = message.urgency;
  EXPECT_GT(listed.at(first), listed.at(second));
  for (const auto& [name, urgency] : listed) {
    if (name == first || name == second) continue;
    EXPECT_LT(urgency, listed.at(second)) << name;
    EXPECT_EQ(urgency, by_turn.at(name)) << name;
  }
}

TEST(Urgency, WithoutPrioritiesIgnoresTheOrder) {
  OneMessagePerGradient lowered;
  lowered.strategy.sync.priorities = false;
  lowered.strategy.sync.message_order = {"d b.weight"};
  for (const Communication& message : lowered.run().communications)
    EXPECT_EQ(message.urgency, 0u) << message.name;
}

TEST(Urgency, ABucketGoesByItsFirstGradient) {
  OnDevices lowered(2, data_parallel);
  // Backward finishes b.weight first.
  lowered.strategy.sync.message_order = {"d b.weight"};
  std::vector<Communication> found = lowered.run().communications;
  auto bucket = std::ranges::find(found, "bucket of 3 gradients", &Communication::name);
  ASSERT_NE(bucket, found.end());
  EXPECT_EQ(bucket->urgency, listed_urgency(0));
}

}  // namespace
}  // namespace troika
