// The verifier on what lowering makes for several devices, damaged in one place.
#include <gtest/gtest.h>

#include "lower/testing/found_messages.h"
#include "taskgraph/verify.h"

namespace troika {
namespace {

struct VerifyMessages : testing::Test {
  TaskGraph tasks = OneMessagePerGradient().run();
  const Communication sum =
      communications_of(tasks, Collective::all_reduce, Category::gradient).at(0);

  std::size_t place(TaskKind kind, int member) const { return place_of(tasks, sum, kind, member); }
  std::string complaint() const {
    try {
      verify(tasks, Stage::chosen);
    } catch (const Bug& bug) {
      return bug.what();
    }
    return "none";
  }
  void expect_complaint(const std::string& part) const {
    EXPECT_NE(complaint().find(part), std::string::npos) << complaint();
  }
};

TEST_F(VerifyMessages, AcceptsWhatWasLowered) { EXPECT_EQ(complaint(), "none"); }

TEST_F(VerifyMessages, RefusesAMemberThatEndsBeforeAnotherStarts) {
  std::swap(tasks.tasks[place(TaskKind::start, 1)], tasks.tasks[place(TaskKind::finish, 0)]);
  expect_complaint("waits for '" + sum.name + "' before another one starts it");
}

TEST_F(VerifyMessages, RefusesATaskThatTouchesWhatIsUnderWay) {
  std::size_t finish = place(TaskKind::finish, 0);
  std::swap(tasks.tasks[finish], tasks.tasks[*next_computing(tasks, finish, +1)]);
  expect_complaint("while '" + sum.name + " start' has it");
}

TEST_F(VerifyMessages, RefusesAMessageThatLacksAMember) {
  for (TaskKind kind : {TaskKind::start, TaskKind::finish}) {
    TaskGraph whole = tasks;
    tasks.tasks.erase(tasks.tasks.begin() + static_cast<std::ptrdiff_t>(place(kind, 1)));
    expect_complaint("a member of '" + sum.name + "' is missing");
    tasks = whole;
  }
}

TEST_F(VerifyMessages, RefusesAMemberThatIsThereTwice) {
  Task again = tasks.tasks[place(TaskKind::finish, 1)];
  again.id.index += 1000;
  tasks.tasks.push_back(again);
  expect_complaint("is there twice");
}

TEST_F(VerifyMessages, RefusesAMessageOfWhatNobodyHasWritten) {
  std::size_t start = place(TaskKind::start, 0);
  std::size_t writer = *next_computing(tasks, start, -1);
  ASSERT_EQ(tasks.tasks[writer].uses.back().buffer, sum.buffers[0]);
  tasks.tasks.erase(tasks.tasks.begin() + static_cast<std::ptrdiff_t>(writer));
  expect_complaint("task '" + sum.name + " start' reads '" + tasks[sum.buffers[0]].name +
                   "' before it is written");
}

TEST_F(VerifyMessages, RefusesABucketThatLacksAGradient) {
  tasks = OnDevices(2, data_parallel).run();
  auto bucket = communications_of(tasks, Collective::all_reduce, Category::gradient).at(0);
  std::size_t writer = 0;
  while (tasks.root(tasks.tasks[writer].uses.back().buffer) != bucket.buffers[0]) ++writer;
  ASSERT_TRUE(tasks.tasks[writer].computes());
  tasks.tasks.erase(tasks.tasks.begin() + static_cast<std::ptrdiff_t>(writer));
  expect_complaint("task '" + bucket.name + " start' reads");
}

TEST_F(VerifyMessages, RefusesAnAllToAllThatLacksABlockForAnother) {
  tasks = ColumnsBetweenSamples().run();
  ASSERT_EQ(complaint(), "none");
  auto trade = communications_of(tasks, Collective::all_to_all, Category::activation).at(0);
  auto fills = [&](const Task& task) {
    return task.computes() && tasks.root(task.uses.back().buffer) == trade.buffers[3];
  };
  auto block = std::ranges::find_if(tasks.tasks, fills);
  ASSERT_EQ(std::ranges::count_if(tasks.tasks, fills), 7);  // all but its own
  tasks.tasks.erase(block);
  expect_complaint("task '" + trade.name + " start' reads");
}

TEST_F(VerifyMessages, RefusesAnAllToAllOfOtherBlocks) {
  tasks = ColumnsBetweenSamples().run();
  for (Communication& trade : tasks.communications)
    if (trade.call.kind == Collective::all_to_all) trade.call.ranges.back().end += 1;
  expect_complaint("the ranges of 'conv all_to_all' end at");
}

TEST_F(VerifyMessages, RefusesAScatteringWhoseTermIsNotThere) {
  tasks = OnDevices(2, tensor_parallel).run();
  auto scattered = communications_of(tasks, Collective::reduce_scatter, Category::activation).at(0);
  std::erase_if(tasks.tasks, [&](const Task& task) {
    return task.computes() && tasks.root(task.uses.back().buffer) == scattered.buffers[0];
  });
  expect_complaint("task '" + scattered.name + " start' reads");
}

TEST_F(VerifyMessages, RefusesRangesThatDoNotMakeUpTheBuffer) {
  OnDevices lowered(2, data_parallel);
  lowered.strategy.sync.sliced_update = true;
  tasks = lowered.run();
  auto is_gather = [](const Communication& c) { return c.call.kind == Collective::all_gather; };
  auto gather = std::ranges::find_if(tasks.communications, is_gather);
  ASSERT_NE(gather, tasks.communications.end());
  Communication whole = *gather;
  --gather->call.ranges[0].end;
  expect_complaint("the ranges of '" + gather->name + "' do not meet");
  *gather = whole;
  --gather->call.ranges[1].end;
  expect_complaint("the ranges of '" + gather->name + "' end at");
}

TEST_F(VerifyMessages, RefusesAParameterOfWhichAPartIsStoredNowhere) {
  auto tensor = std::ranges::find(tasks.storage, "a.weight", &StateEntry::name);
  StoredPlaces places = *tensor->places;
  for (StoredPlace& place : places) --place.region.ranges[0].end;
  tensor->places = std::make_shared<StoredPlaces>(places);
  expect_complaint("nobody stores [3:4,0:4] of 'a.weight'");
}

TEST_F(VerifyMessages, RefusesBuffersThatAreNotWhatTheStorageLists) {
  auto buffer = std::ranges::find_if(tasks.buffers, [](const BufferSpec& each) {
    return each.persistent && each.part_of == "a.weight";
  });
  --buffer->region.ranges[0].end;
  expect_complaint("'a.weight' is stored in another way");
  ++buffer->region.ranges[0].end;
  std::erase_if(tasks.storage, [](const StateEntry& each) { return each.name == "a.weight"; });
  expect_complaint("is part of 'a.weight', which is not stored");
}

TEST_F(VerifyMessages, RefusesAPlaceWithoutABuffer) {
  auto tensor = std::ranges::find(tasks.storage, "a.weight", &StateEntry::name);
  StoredPlaces places = *tensor->places;
  places.push_back(places.back());
  tensor->places = std::make_shared<StoredPlaces>(places);
  expect_complaint("'a.weight' has 3 places here, but 2 buffers");
}

TEST_F(VerifyMessages, RefusesAMemberOfAnotherDeviceThanTheGraphs) {
  tasks.devices = {DeviceId(0u)};
  expect_complaint("disagree about its device 1");
}

TEST_F(VerifyMessages, RefusesTwoCommunicationsOfOneId) {
  tasks.communications.back().id = tasks.communications.front().id;
  expect_complaint("two communications have one id");
}

TEST_F(VerifyMessages, RefusesAnOrderThatIsNotThatOfTheTurns) {
  tasks.tasks.back().turn = {};
  expect_complaint("whose turn is earlier");
}

TEST_F(VerifyMessages, RefusesABufferOfAnotherDevice) {
  tasks.tasks[place(TaskKind::finish, 0)].uses[0].buffer = sum.buffers[1];
  expect_complaint("is not its member's");
}

}  // namespace
}  // namespace troika
