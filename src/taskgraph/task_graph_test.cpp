#include "taskgraph/task_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "taskgraph/check_writes.h"
#include "taskgraph/memory_table.h"
#include "taskgraph/timeline.h"
#include "taskgraph/verify.h"

namespace troika {
namespace {

const TensorSpec kVector{{8}, DType::f32};

/// A graph of sums over named buffers: `sum("c", {"a", "b"})` adds the task c = a + b.
struct Sums {
  TaskGraph graph{.name = "sums", .arena = {Bytes{}}};

  BufferId buffer(const std::string& name, bool persistent = false) {
    auto found = std::ranges::find(graph.buffers, name, &BufferSpec::name);
    if (found != graph.buffers.end())
      return BufferId(static_cast<std::size_t>(found - graph.buffers.begin()));
    Bytes offset = graph.arena[0];
    if (!persistent) graph.arena[0] += Bytes{64};
    graph.buffers.push_back({.name = name,
                             .spec = kVector,
                             .device = DeviceId(0u),
                             .persistent = persistent,
                             .offset = offset});
    return BufferId(graph.buffers.size() - 1);
  }
  void input(const std::string& name) { graph.inputs[name] = buffer(name); }
  void sum(const std::string& to, const std::vector<std::string>& from) {
    Task task{.id = {0, static_cast<std::int32_t>(graph.tasks.size())},
              .name = to,
              .device = DeviceId(0u)};
    task.key = {Sum{.count = static_cast<std::int64_t>(from.size())},
                std::vector(from.size(), kVector),
                Phase::forward,
                {}};
    for (const std::string& name : from) task.uses.push_back({buffer(name), Access::read});
    task.uses.push_back({buffer(to), Access::write});
    task.choice = {"fake", std::vector<Layout>(task.uses.size()), {}, {1000}};
    graph.tasks.push_back(task);
  }
};

TEST(Dependencies, FollowReadsAndWrites) {
  Sums sums;
  sums.input("a");
  sums.sum("b", {"a", "a"});
  sums.sum("c", {"a", "a"});
  sums.sum("d", {"b", "c"});
  EXPECT_EQ(find_dependencies(sums.graph), (std::vector<Dependency>{{0, 2, 0}, {1, 2, 0}}));
}

TEST(Dependencies, OfPersistentBuffersReachIntoTheNextStep) {
  Sums sums;
  BufferId state = sums.buffer("state", true);
  sums.sum("x", {"state", "state"});
  sums.graph.tasks.push_back(sums.graph.tasks[0]);
  sums.graph.tasks[1].id.index = 1;
  sums.graph.tasks[1].uses = {
      {state, Access::update}, {sums.buffer("x"), Access::read}, {sums.buffer("y"), Access::write}};
  auto edges = find_dependencies(sums.graph);
  EXPECT_TRUE(std::ranges::count(edges, Dependency{0, 1, 0}));  // old value read before the update
  EXPECT_TRUE(std::ranges::count(edges, Dependency{1, 0, 1}));  // new value read in the next step
  EXPECT_TRUE(std::ranges::count(edges, Dependency{1, 1, 1}));  // updates stay in order
}

TEST(Verify, AcceptsAGraphInOrderAndRefusesOneThatIsNot) {
  Sums sums;
  sums.input("a");
  sums.sum("b", {"a", "a"});
  sums.sum("c", {"b", "a"});
  sums.graph.dependencies = find_dependencies(sums.graph);
  EXPECT_NO_THROW(verify(sums.graph, Stage::placed));
  TaskGraph twice = sums.graph;
  twice.tasks[1].uses.back() = twice.tasks[0].uses.back();
  EXPECT_THROW(verify(twice, Stage::expanded), Bug);
  TaskGraph wrong_layout = sums.graph;
  wrong_layout.tasks[0].choice.layouts[0] = Layout::transposed;
  EXPECT_THROW(verify(wrong_layout, Stage::chosen), Bug);
  TaskGraph wrong_shape = sums.graph;
  wrong_shape.buffers[0].spec.shape = {9};
  EXPECT_THROW(verify(wrong_shape, Stage::expanded), Bug);
}

TEST(Verify, RefusesReadingAValueThatWasOverwrittenInPlace) {
  Sums sums;
  sums.input("a");
  sums.sum("b", {"a", "a"});
  sums.sum("c", {"b", "a"});
  sums.graph.dependencies = find_dependencies(sums.graph);
  sums.graph[sums.buffer("b")].view_of =
      sums.buffer("a");  // b takes the memory of a, which c still reads
  EXPECT_THROW(verify(sums.graph, Stage::placed), Bug);
}

/// A task that updates these buffers.
Task update_of(const std::vector<BufferId>& buffers) {
  Task task{.name = "update", .device = DeviceId(0u), .is_update = true};
  task.key = {Sum{.count = 0}, {}, Phase::update, {}};
  for (BufferId buffer : buffers) task.uses.push_back({buffer, Access::update});
  return task;
}

TEST(CheckWrites, RefusesAStateThatIsUpdatedTwiceBeItThroughAView) {
  Sums sums;
  BufferId state = sums.buffer("state", true);
  BufferSpec half{.name = "half",
                  .spec = {{4}, DType::f32},
                  .device = DeviceId(0u),
                  .view_of = state,
                  .view_offset = {16}};
  sums.graph.buffers.push_back(half);
  half.name = "other half", half.view_offset = {};
  sums.graph.buffers.push_back(half);
  BufferId upper(sums.graph.buffers.size() - 2), lower(sums.graph.buffers.size() - 1);
  sums.graph.tasks = {update_of({upper}), update_of({lower})};
  EXPECT_NO_THROW(check_writes(sums.graph));
  for (BufferId again : {state, lower}) {
    TaskGraph twice = sums.graph;
    twice.tasks.push_back(update_of({again}));
    EXPECT_THROW(check_writes(twice), Bug);
  }
}

TEST(Verify, RefusesABoxThatLeavesItsInput) {
  Sums sums;
  sums.input("a");
  sums.sum("b", {"a"});
  // Five elements of the eight, to the end of b, whose other elements become zero.
  Task& task = sums.graph.tasks[0];
  task.key = {Assemble{.shape = {8}, .boxes = {3, 5}}, {kVector}, Phase::forward, {}};
  for (std::int64_t begin : {0, 3}) {
    task.position = {begin};
    EXPECT_NO_THROW(verify(sums.graph, Stage::placed)) << begin;
  }
  for (std::int64_t begin : {-1, 4}) {
    task.position = {begin};
    EXPECT_THROW(verify(sums.graph, Stage::placed), Bug) << begin;
  }
}

TEST(Verify, RefusesALayerThatDoesNotMakeUpTheResult) {
  Sums sums;
  sums.input("a");
  sums.sum("b", {"a", "a"});
  Task& task = sums.graph.tasks[0];
  task.key = {Assemble{.shape = {8}, .boxes = {5, 3}, .layered = true},
              {kVector, kVector},
              Phase::forward,
              {}};
  for (std::vector<std::int64_t> right : {std::vector<std::int64_t>{1, 0, 5, 5}, {3, 3, 0, 0}}) {
    task.position = right;
    EXPECT_NO_THROW(verify(sums.graph, Stage::placed)) << right[1];
  }
  for (std::vector<std::int64_t> wrong : {std::vector<std::int64_t>{1, 0, 5, 4}, {3, 4, 0, 0}}) {
    task.position = wrong;
    EXPECT_THROW(verify(sums.graph, Stage::placed), Bug) << wrong[1];
  }
}

TEST(Verify, RefusesTwoStatesOfOneName) {
  Sums sums;
  sums.buffer("state", true);
  EXPECT_NO_THROW(verify(sums.graph, Stage::expanded));
  sums.graph.buffers.push_back(sums.graph.buffers[0]);
  EXPECT_THROW(verify(sums.graph, Stage::expanded), Bug);
}

TEST(MemoryTable, CountsWhatLivesAtTheFullestMoment) {
  Sums sums;
  sums.input("a");
  sums.buffer("state", true);
  sums.sum("b", {"a", "a"});
  sums.sum("c", {"b", "b"});
  sums.sum("d", {"c", "state"});
  MemoryTable memory = memory_of(sums.graph, DeviceId(0u));
  EXPECT_EQ(memory.persistent, Bytes{32});
  EXPECT_EQ(memory.arena, Bytes{4 * 64});
  EXPECT_EQ(memory.categories.at(Category::activation),
            Bytes{32 + 64});  // state, and two of a, b, c, d at a time
}

TEST(KernelKey, FusedOperatorsAddTheirReadsAndMoveTheOutput) {
  KernelKey key{
      Linear{.out = 5}, {{{4, 3}, DType::f32}}, Phase::forward, {{Bias{}, {}}, {Activation{}, {}}}};
  std::vector<Operand> operands = operands_of(key);
  std::vector<std::string> names;
  for (const Operand& operand : operands) names.push_back(operand.name);
  EXPECT_EQ(names, (std::vector<std::string>{"x", "weight", "bias", "y"}));
  EXPECT_EQ(operands.back().spec.shape, (Shape{4, 5}));
  EXPECT_EQ(to_text(key), "linear{out=5} forward f32[4,3] + bias{} + activation{}");
  EXPECT_EQ(flops_of(key).count, 2 * 4 * 3 * 5 + 4 * 5 + 4 * 5);
}

TEST(ChromeTrace, HasOneEventPerTaskInEachTimeline) {
  Sums sums;
  sums.input("a");
  sums.sum("b", {"a", "a"});
  Timeline timeline{{{{0, 0}, DeviceId(0u), SimTime{0}, SimTime{1500}}}};
  TraceCounter memory{.name = "memory of device 0", .time = {500}, .values = {{"gradients", 64}}};
  auto trace = nlohmann::json::parse(
      to_chrome_trace(sums.graph, {{"measured", timeline}, {"predicted", timeline, {memory}}}));
  int spans = 0;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    ++spans;
    EXPECT_EQ(event["name"], "b");
    EXPECT_DOUBLE_EQ(event["dur"], 1.5);
  }
  EXPECT_EQ(spans, 2);
  EXPECT_EQ(trace["traceEvents"][0]["args"]["name"], "measured");
  auto counter = trace["traceEvents"].back();
  EXPECT_EQ(counter["ph"], "C");
  EXPECT_EQ(counter["pid"], 1);
  EXPECT_DOUBLE_EQ(counter["ts"], 0.5);
  EXPECT_EQ(counter["args"]["gradients"], 64);
}

TEST(TaskGraphText, NamesEveryBufferAndTask) {
  Sums sums;
  sums.input("a");
  sums.sum("b", {"a", "a"});
  EXPECT_EQ(to_text(sums.graph),
            "taskgraph sums\n"
            "buffer a f32[8] plain activations at 0\n"
            "buffer b f32[8] plain activations at 64\n"
            "task 0.0 'b' on 0 sum{} forward f32[8] f32[8] fake ( a a =b )\n");
  EXPECT_NE(to_dot(sums.graph).find("label=\"b\\ndevice 0\""), std::string::npos);
}

}  // namespace
}  // namespace troika
