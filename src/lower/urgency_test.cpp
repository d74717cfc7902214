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

}  // namespace
}  // namespace troika
