// Loops whose tasks run beside later steps than their own: their order and what follows from it.
#include <gtest/gtest.h>

#include "taskgraph/lifetimes.h"
#include "taskgraph/memory_table.h"
#include "taskgraph/testing/loop.h"

namespace troika {
namespace {

using Names = std::vector<std::string>;

TEST(LoopOrder, RunsEachLagBeforeTheSmallerOneThatOverwritesWhatItReads) {
  Loop loop = chain();
  EXPECT_EQ(loop.order(), (Names{"d", "c", "b", "a"}));
  EXPECT_EQ(loop.refusal(), "");
  EXPECT_EQ(largest_lag(loop.graph), 3);
}

TEST(LoopOrder, WhatNobodyWaitsForIsLateAndALaterTaskOfTheSameLagHoldsEarlierOnesBack) {
  Loop loop;
  loop.input("x");
  loop.sum("free", {"x", "x"}, 0);
  loop.buffer("s", 0, true);
  loop.sum("held back", {"s", "s"}, 2);
  loop.sum("a", {"x", "x"}, 0);
  loop.sum("b", {"a", "a"}, 1);
  loop.sum("c", {"b", "b"}, 2);
  loop.sum("late", {"b", "b"}, 2);
  EXPECT_EQ(loop.order(), (Names{"free", "held back", "c", "late", "b", "a"}));
  std::swap(loop["c"], loop["held back"]);
  EXPECT_EQ(loop.order(), (Names{"free", "c", "held back", "late", "b", "a"}));
  loop["late"].uses.front() = loop["late"].uses[1] = {loop.buffer("s"), Access::read};
  EXPECT_EQ(loop.order(), (Names{"free", "c", "b", "a", "held back", "late"}));
}

TEST(LoopOrder, FollowsDependenciesThatNoMemoryShows) {
  Loop loop;
  for (const char* name : {"a", "b", "c"}) loop.sum(name, {}, 0);
  loop["c"].lag = 2;
  EXPECT_EQ(loop.order(), (Names{"a", "b", "c"}));
  loop.graph.dependencies = {{2, 1, 2}};  // b waits for c of two steps before: the same pass
  EXPECT_EQ(loop.order(), (Names{"a", "c", "b"}));
  loop.graph.dependencies = {{2, 1, 3}};
  EXPECT_EQ(loop.order(), (Names{"a", "b", "c"}));
}

TEST(LoopOrder, AMessageEndsBeforeTheNextOneStartsAlsoWhereItIsOnlyRead) {
  Loop loop;
  BufferId state = loop.buffer("y", 0, true);
  loop.half("y", TaskKind::start, 0, 0);
  loop.half("y", TaskKind::start, 1, 0);
  loop.half("y", TaskKind::finish, 0, 1);
  loop.half("y", TaskKind::finish, 1, 1);
  ASSERT_EQ(loop["y start 0"].uses[0].buffer, state);
  EXPECT_EQ(loop.order(), (Names{"y finish 0", "y start 0", "y finish 1", "y start 1"}));
  EXPECT_EQ(loop.refusal(), "");
}

TEST(Dependencies, OfMemoryBetweenDifferentLagsReachIntoTheNextStep) {
  Loop loop = chain();
  EXPECT_EQ(find_dependencies(loop.graph), (std::vector<Dependency>{{0, 0, 1},
                                                                    {0, 1, 0},
                                                                    {1, 0, 1},
                                                                    {1, 1, 1},
                                                                    {1, 2, 0},
                                                                    {2, 1, 1},
                                                                    {2, 2, 1},
                                                                    {2, 3, 0},
                                                                    {3, 2, 1}}));
  for (Task& task : loop.graph.tasks) task.lag = 0;
  std::vector<Dependency> within{{0, 1, 0}, {1, 2, 0}, {2, 3, 0}};
  EXPECT_EQ(find_dependencies(loop.graph), within);
  loop.graph.inputs.clear();
  for (Task& task : loop.graph.tasks) task.lag = 2;
  EXPECT_EQ(find_dependencies(loop.graph), within) << "all within one pass";
}

TEST(Lifetimes, AreLinearWithinALagAndEndlessBetweenTwo) {
  Loop loop = pipeline();
  std::vector<Lifetime> lives = find_lifetimes(loop.graph);
  // y, y start 0 and the last task of device 0 that needs it, y finish 0 of the step before.
  EXPECT_EQ(loop.order(),
            (Names{"y start 1", "y finish 0", "y", "y start 0", "y finish 1", "z", "last"}));
  const Lifetime& sent = lives[loop.buffer("y").index()];
  EXPECT_TRUE(sent.outlives_pass);
  EXPECT_EQ(std::pair(sent.first, sent.last), std::pair(std::size_t{0}, std::size_t{6}));
  const Lifetime& received = lives[loop.buffer("y", 1).index()];
  EXPECT_FALSE(received.outlives_pass);
  EXPECT_EQ(std::pair(received.first, received.last), std::pair(std::size_t{0}, std::size_t{5}));
  const Lifetime& z = lives[loop.buffer("z", 1).index()];
  EXPECT_EQ(std::pair(z.first, z.last), std::pair(std::size_t{5}, std::size_t{6}));
}

TEST(MemoryTable, FindsThePeakInTheOrderOfThePass) {
  Loop loop = pipeline();
  EXPECT_EQ(memory_of(loop.graph, DeviceId(1u)).peak_task, "z");
  loop = chain();
  EXPECT_EQ(memory_of(loop.graph, DeviceId(0u)).peak_task, "d") << "the first one of the pass";
}

TEST(TaskGraphText, ShowsTheLag) {
  std::string text = to_text(chain().graph);
  EXPECT_NE(text.find("'c' on 0 sum{} forward f32[8] f32[8] fake ( b b =c ) lag 2\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("fake ( x x =a )\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace troika
