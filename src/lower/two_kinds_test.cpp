// A machine with two kinds of devices: each asks for rows of its own kind.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "lower/testing/lowered.h"
#include "strategy/ready.h"

namespace troika {
namespace {

struct TwoKinds : OnDevices {
  TwoKinds() : OnDevices(4, data_parallel) {
    for (std::size_t at = 0; at < 4; ++at) machine.devices[at].kind = at < 2 ? "slow" : "fast";
  }
};

TEST(TwoKinds, AskForTheRowsOfBoth) {
  TwoKinds lowered;
  std::vector<KernelRequest> rows = rows_needed(lowered.request());
  auto of_kind = [&](const std::string& kind) {
    std::vector<std::string> keys;
    for (const KernelRequest& row : rows)
      if (row.kind == kind) keys.push_back(to_text(row.key));
    return keys;
  };
  EXPECT_EQ(rows.size(), 2 * of_kind("slow").size());
  EXPECT_EQ(of_kind("slow"), of_kind("fast"));  // the batch is even
  auto is_sorted = std::ranges::is_sorted(of_kind("fast"));
  EXPECT_TRUE(is_sorted);
}

TEST(TwoKinds, MissTheRowsOfOne) {
  TwoKinds lowered;
  std::vector<KernelRequest> slow = rows_needed(lowered.request());
  std::erase_if(slow, [](const KernelRequest& row) { return row.kind != "slow"; });
  LowerResult result = lower(lowered.request(), lowered.kernels.answer(slow));
  ASSERT_TRUE(std::holds_alternative<MissingRows>(result));
  const std::vector<KernelRequest>& missing = std::get<MissingRows>(result).rows;
  EXPECT_EQ(missing.size(), slow.size());
  EXPECT_TRUE(
      std::ranges::all_of(missing, [](const KernelRequest& row) { return row.kind == "fast"; }));
}

TEST(TwoKinds, TasksTakeTheKernelsAndTimesOfTheirOwn) {
  TwoKinds lowered;
  KernelTable table;
  for (const KernelRequest& row : rows_needed(lowered.request())) {
    std::vector<Candidate> candidates;
    if (row.key.fused.empty())
      candidates = {{.algorithm = "for " + row.kind,
                     .layouts = std::vector(operands_of(row.key).size(), Layout::plain),
                     .time = SimTime{row.kind == "slow" ? 1000 : 10}}};
    table.insert(row, candidates);
  }
  TaskGraph graph = std::get<TaskGraph>(lower(lowered.request(), table));
  int checked = 0;
  for (const Task& task : graph.tasks) {
    // Replicas of one tile take one kernel, so only tiles of the batch are looked at.
    if (!task.name.starts_with("a forward") && !task.name.starts_with("relu forward")) continue;
    bool is_slow = task.device.value < 2;
    EXPECT_EQ(task.choice.algorithm, is_slow ? "for slow" : "for fast") << task.name;
    EXPECT_EQ(task.choice.time, SimTime{is_slow ? 1000 : 10}) << task.name;
    ++checked;
  }
  EXPECT_EQ(checked, 8);
}

TEST(TwoKinds, KernelsOfASlowedDownDeviceTakeLonger) {
  OnDevices lowered(2, data_parallel);
  lowered.machine.devices[1].slowdown = 1.5;
  TaskGraph graph = lowered.run();
  std::map<std::string, SimTime> on_first;
  for (const Task& task : graph.tasks)
    if (task.computes() && task.device.value == 0) on_first[to_text(task.key)] = task.choice.time;
  int checked = 0;
  for (const Task& task : graph.tasks) {
    auto known = on_first.find(to_text(task.key));
    if (!task.computes() || task.device.value == 0 || known == on_first.end()) continue;
    EXPECT_EQ(task.choice.time.count, std::llround(1.5 * double(known->second.count)));
    ++checked;
  }
  EXPECT_GT(checked, 3);
}

}  // namespace
}  // namespace troika
