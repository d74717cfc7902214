// Loops whose tasks run beside later steps than their own: what the verifier refuses.
#include "taskgraph/check_lags.h"

#include <gtest/gtest.h>

#include <random>

#include "ops/step_scalars.h"
#include "taskgraph/check_communications.h"
#include "taskgraph/check_memory.h"
#include "taskgraph/check_order.h"
#include "taskgraph/testing/loop.h"

namespace troika {
namespace {

#define EXPECT_SAYS(text, words) EXPECT_NE(std::string(text).find(words), std::string::npos) << text

TEST(CheckLags, RefusesAReaderWithASmallerLagThanItsWriter) {
  Loop loop = chain();
  loop["b"].lag = 2;
  loop["c"].lag = 1;
  loop["d"].lag = 1;
  for (Stage stage : {Stage::expanded, Stage::placed})
    EXPECT_SAYS(loop.refusal(stage),
                "'c' with lag 1 needs 'b' as 'b' leaves it, which runs later, with lag 2");
}

TEST(CheckLags, RefusesAReaderWhoseValueIsOverwrittenBeforeItRuns) {
  Loop loop = chain();
  loop["c"].lag = 3;
  for (Stage stage : {Stage::expanded, Stage::placed})
    EXPECT_SAYS(loop.refusal(stage),
                "'b' is overwritten by 'b' of a later step before 'c' uses it, which lags 2 more");
  // The replay of memory sees the same without knowing the rule.
  EXPECT_THROW(check_memory(loop.graph, loop_order(loop.graph)), Bug);
  EXPECT_THROW(check_order(loop.graph, loop_order(loop.graph)), Bug);
}

TEST(CheckLags, RefusesAStateThatIsWrittenAfterTheNextStepReadsIt) {
  Loop loop;
  loop.buffer("state", 0, true);
  loop.sum("x", {"state", "state"}, 0);
  loop.sum("state", {"x", "x"}, 1);
  EXPECT_EQ(loop.refusal(), "");
  EXPECT_EQ(loop.order(), (std::vector<std::string>{"state", "x"}));
  loop["x"].uses.back().buffer = loop.buffer("y");
  loop["state"].uses.front() = loop["state"].uses[1] = {loop.buffer("z", 0, true), Access::read};
  loop["state"].lag = 2;
  EXPECT_SAYS(loop.refusal(),
              "'x' of the next step needs 'state' as 'state' leaves it, which lags 2");
}

TEST(CheckLags, RefusesValuesThatTheHostReadsOrWritesBetweenPasses) {
  Loop loop = chain();
  loop["a"].lag = 1;
  EXPECT_SAYS(loop.refusal(), "the host overwrites the input 'x' before 'a' uses it");
  loop = chain();
  loop.output("a");
  EXPECT_EQ(loop.refusal(), "");
  loop.output("d");
  EXPECT_SAYS(loop.refusal(), "the host reads 'd' before 'd' writes it, which has the lag 3");
}

TEST(CheckLags, RefusesScalarsOfAnotherStepAndAControlWordThatComesLate) {
  for (int lag = 0; lag < 3; ++lag)
    for (int of = 0; of < 3; ++of) {
      Loop loop;
      loop.buffer(scalars_name(of) + "@0", 0, true);
      loop.sum("a", {scalars_name(of) + "@0"}, lag);
      std::string refusal = loop.refusal();
      EXPECT_EQ(refusal.empty(), lag == of) << refusal;
    }
  Loop loop;
  for (const char* name : {"step.control@0", "s"}) loop.buffer(name, 0, true);
  loop.sum("step.control@0", {"s"}, 0);
  EXPECT_EQ(loop.refusal(), "");
  loop["step.control@0"].lag = 1;
  EXPECT_SAYS(loop.refusal(), "after the host has read it");
}

TEST(CheckLags, RefusesANegativeLag) {
  Loop loop = chain();
  loop["a"].lag = -1;
  EXPECT_SAYS(loop.refusal(), "'a' has the lag -1");
}

TEST(CheckOrder, RefusesADependencyThatPointsIntoAnEarlierPass) {
  Loop loop = chain();
  ASSERT_EQ(loop.refusal(), "");
  for (int distance : {4, 3, 2}) {
    loop.graph.dependencies = find_dependencies(loop.graph);
    loop.graph.dependencies.push_back({3, 0, distance});  // a waits for d, which lags 3 more
    if (distance >= 3)
      EXPECT_NO_THROW(verify(loop.graph, Stage::placed));
    else
      EXPECT_THROW(verify(loop.graph, Stage::placed), Bug);
  }
}

TEST(CheckOrder, RefusesALoopInWhichNothingKeepsAValueForItsLaggingReader) {
  Loop loop = chain();
  std::vector<std::size_t> order = loop_order(loop.graph);
  std::vector<Dependency> all = find_dependencies(loop.graph);
  for (Dependency reader : {Dependency{1, 0, 1}, Dependency{2, 1, 1}, Dependency{3, 2, 1}}) {
    loop.graph.dependencies = all;
    EXPECT_NO_THROW(check_order(loop.graph, order));
    ASSERT_EQ(std::erase(loop.graph.dependencies, reader), 1u);
    EXPECT_THROW(check_order(loop.graph, order), Bug);
  }
}

TEST(CheckCommunications, AcceptsAPipelineAndRefusesAStartThatLagsMoreThanAFinishElsewhere) {
  Loop loop = pipeline();
  EXPECT_EQ(loop.refusal(), "");
  loop["y finish 0"].lag = 0;
  for (Stage stage : {Stage::expanded, Stage::placed})
    EXPECT_SAYS(loop.refusal(stage),
                "'y finish 0' on device 0 with lag 0 waits for 'y' before device 1 starts it by "
                "'y start 1' with lag 1");
  loop["y start 1"].lag = 0;
  EXPECT_EQ(loop.refusal(), "") << "the message is under way between the two passes";
}

TEST(CheckCommunications, RefusesAMessageThatStartsAgainBeforeItHasFinished) {
  Loop loop;
  loop.buffer("y", 0, true);
  loop.half("y", TaskKind::start, 0, 0);
  loop.half("y", TaskKind::start, 1, 1);
  loop.half("y", TaskKind::finish, 0, 2);
  loop.half("y", TaskKind::finish, 1, 1);
  EXPECT_SAYS(loop.refusal(), "'y start 0' starts again before it has finished");
  loop["y finish 0"].lag = 1;
  EXPECT_EQ(loop.refusal(), "");
}

TEST(CheckCommunications, RefusesAnOrderInWhichAFinishComesBeforeAStartOrABufferIsTouched) {
  Loop loop = pipeline();
  ASSERT_EQ(loop.refusal(), "");
  std::vector<std::size_t> order = loop_order(loop.graph);
  EXPECT_NO_THROW(check_communications(loop.graph, order));
  auto refused = [&](std::size_t a, std::size_t b) {
    std::vector<std::size_t> swapped = order;
    std::swap(swapped[a], swapped[b]);
    try {
      check_communications(loop.graph, swapped);
    } catch (const Bug& bug) {
      return std::string(bug.what());
    }
    return std::string();
  };
  EXPECT_SAYS(refused(0, 1), "before device 1 starts it by 'y start 1'");
  EXPECT_SAYS(refused(1, 2), "'y' touches 'y' while 'y start 0' has it");
  EXPECT_SAYS(refused(4, 5), "'z' touches 'y' while 'y start 1' has it");
  EXPECT_EQ(refused(2, 6), refused(6, 2));
}

TEST(CheckMemory, RefusesBytesThatAreTakenFromAValueBetweenPasses) {
  Loop loop;
  loop.input("x");
  loop.sum("a", {"x", "x"}, 0);
  loop.sum("b", {"a", "a"}, 1);
  loop.buffer("s", 0, true);
  loop.sum("other", {"s", "s"}, 1);
  ASSERT_EQ(loop.order(), (std::vector<std::string>{"b", "a", "other"}));
  ASSERT_EQ(loop.refusal(), "");
  // `a` keeps its value from its pass to the next; `other` runs in between.
  loop.graph[loop.buffer("other")].offset = loop.graph[loop.buffer("a")].offset;
  EXPECT_SAYS(loop.refusal(), "'other' overwrites 'a', which b still needs");
  // `b` is written and not needed any more.
  loop.graph[loop.buffer("other")].offset = loop.graph[loop.buffer("b")].offset;
  EXPECT_EQ(loop.refusal(), "");
}

/// Random tasks over a few buffers, with random lags.
Loop random_loop(std::mt19937& random) {
  auto pick = [&](int from, int to) { return std::uniform_int_distribution(from, to)(random); };
  Loop loop;
  std::vector<BufferId> buffers;
  int spread = pick(1, 3);
  for (int at = 0; at < 4; ++at)
    buffers.push_back(loop.buffer(std::to_string(at), 0, pick(0, 1) == 0));
  for (int at = 0; at < 6; ++at) {
    Task& task =
        loop.add({.name = std::to_string(at), .device = DeviceId(0u), .lag = pick(0, spread)});
    for (int use = pick(1, 2); use > 0; --use)
      task.uses.push_back(
          {buffers[static_cast<std::size_t>(pick(0, 3))], static_cast<Access>(pick(0, 2))});
  }
  return loop;
}

bool conflict(const TaskGraph& graph, const std::vector<bool>& across, std::size_t a, std::size_t b,
              bool same_step) {
  for (const BufferUse& one : graph.tasks[a].uses)
    for (const BufferUse& other : graph.tasks[b].uses)
      if (one.buffer == other.buffer &&
          (one.access != Access::read || other.access != Access::read) &&
          (same_step || graph[one.buffer].persistent || across[one.buffer.index()]))
        return true;
  return false;
}

/// By brute force: whether a loop of some steps runs all pairs that conflict as steps one by one
/// do.
bool is_in_order(const TaskGraph& graph, const std::vector<std::size_t>& order) {
  std::vector<bool> across = find_memory_across_passes(graph);
  struct Run {
    int step;
    std::size_t task;
    auto operator<=>(const Run&) const = default;
  };
  std::vector<Run> runs;
  for (int pass = 0; pass < 10; ++pass)
    for (std::size_t at : order)
      if (int step = pass - graph.tasks[at].lag; step >= 0 && step < 6) runs.push_back({step, at});
  for (std::size_t late = 0; late < runs.size(); ++late)
    for (std::size_t early = 0; early < late; ++early)
      if (runs[late] < runs[early] && conflict(graph, across, runs[late].task, runs[early].task,
                                               runs[late].step == runs[early].step))
        return false;
  return true;
}

TEST(CheckLags, AcceptsARandomLoopExactlyIfItsOrderIsThatOfStepsOneByOne) {
  std::mt19937 random(7);
  int accepted = 0, refused = 0;
  for (int times = 0; times < 3000; ++times) {
    Loop loop = random_loop(random);
    bool in_order = is_in_order(loop.graph, loop_order(loop.graph));
    bool accepts = true;
    try {
      check_lags(loop.graph);
    } catch (const Bug&) {
      accepts = false;
    }
    ASSERT_EQ(accepts, in_order) << to_text(loop.graph);
    accepted += accepts && largest_lag(loop.graph) > 1;
    refused += !accepts;
    loop.graph.dependencies = find_dependencies(loop.graph);
    std::vector<std::size_t> order = loop_order(loop.graph);
    if (accepts)
      EXPECT_NO_THROW(check_order(loop.graph, order)) << to_text(loop.graph);
    else
      EXPECT_THROW(check_order(loop.graph, order), Bug) << to_text(loop.graph);
  }
  EXPECT_GT(accepted, 20);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace troika
