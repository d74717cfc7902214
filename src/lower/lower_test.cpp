#include "lower/lower.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "lower/movement_table.h"
#include "lower/testing/lowered.h"
#include "taskgraph/memory_table.h"
#include "taskgraph/verify.h"

namespace troika {
namespace {

TEST(Lower, ExpandsForwardBackwardAndUpdates) {
  Lowered lowered;
  EXPECT_EQ(names(lowered.run()),
            (std::vector<std::string>{"a forward", "a.bias forward", "relu forward", "add forward",
                                      "b forward", "loss forward", "guard", "loss backward_data",
                                      "b backward_data", "b backward_weight", "b.weight update",
                                      "relu backward_data", "d h sum", "a.bias backward_weight",
                                      "a.bias update", "a backward_weight", "a.weight update"}));
}

TEST(Lower, LeavesOutTheGradientOfTheData) {
  Lowered lowered;
  EXPECT_EQ(std::ranges::count(names(lowered.run()), "a backward_data"), 0);
}

TEST(Lower, FrozenParametersGetNoGradientAndNoUpdate) {
  Lowered lowered;
  lowered.graph.parameters[0].trained = lowered.graph.parameters[1].trained = false;
  std::vector<std::string> tasks = names(lowered.run());
  EXPECT_EQ(std::ranges::count(tasks, "b backward_data"), 0);
  EXPECT_EQ(std::ranges::count(tasks, "a.weight update"), 0);
  EXPECT_EQ(std::ranges::count(tasks, "b.weight update"), 1);
}

TEST(Lower, MissingRowsAreReturnedNotMeasured) {
  Lowered lowered;
  LowerResult result = lower(lowered.request(), KernelTable{});
  ASSERT_TRUE(std::holds_alternative<MissingRows>(result));
  EXPECT_EQ(std::get<MissingRows>(result).rows.size(), rows_needed(lowered.request()).size());
}

TEST(Lower, ForwardProgramHoldsItsOutputsAndHasNoLoss) {
  Lowered lowered;
  LowerRequest request = lowered.request();
  request.optimizer = nullptr;
  TaskGraph graph =
      std::get<TaskGraph>(lower(request, lowered.kernels.answer(rows_needed(request))));
  EXPECT_EQ(names(graph), (std::vector<std::string>{"a forward", "a.bias forward", "relu forward",
                                                    "add forward", "b forward"}));
  EXPECT_TRUE(graph[graph.outputs.at("logits")].held);
  EXPECT_FALSE(graph.inputs.contains("target"));
}

TEST(Lower, MicroBatchesAddUpGradientsAndLosses) {
  Lowered lowered;
  lowered.strategy.micro_batches = 2;
  std::vector<std::string> tasks = names(lowered.run());
  EXPECT_EQ(std::ranges::count(tasks, "b forward#0"), 1);
  EXPECT_EQ(std::ranges::count(tasks, "b forward#1"), 1);
  EXPECT_EQ(std::ranges::count(tasks, "loss_sum sum"), 1);
  EXPECT_EQ(std::ranges::count(tasks, "d b.weight sum"), 1);
  EXPECT_EQ(std::ranges::count(tasks, "b.weight update"), 1);
}

TEST(Lower, ClippingMakesAllUpdatesWaitForTheNorm) {
  Lowered lowered;
  lowered.optimizer.clip_norm = 1;
  std::vector<std::string> tasks = names(lowered.run());
  auto guard = std::ranges::find(tasks, "guard");
  EXPECT_EQ(std::vector<std::string>(guard + 1, tasks.end()),
            (std::vector<std::string>{"a.weight update", "a.bias update", "b.weight update"}));
}

TEST(ChooseKernels, InsertsAReorderWhereLayoutsDiffer) {
  Lowered lowered;
  lowered.kernels.wants["linear"] = {Layout::plain, Layout::transposed, Layout::plain};
  TaskGraph graph = lowered.run();
  // Forward reads the weight transposed, its gradient is written plain: one of the two moves.
  std::vector<std::string> tasks = names(graph);
  auto of_weight = [](const std::string& name) {
    return name == "a.weight to transposed" || name == "d a.weight to transposed";
  };
  EXPECT_EQ(std::ranges::count_if(tasks, of_weight), 1);
}

TEST(ChooseKernels, ReordersRunTheQuickestCandidate) {
  Lowered lowered;
  lowered.kernels.slow_first = true;
  lowered.kernels.wants["linear"] = {Layout::plain, Layout::transposed, Layout::plain};
  int reorders = 0;
  for (const Task& task : lowered.run().tasks) {
    if (!std::holds_alternative<Reorder>(task.key.op)) continue;
    ++reorders;
    EXPECT_EQ(task.choice.algorithm, "fake") << task.name;
    EXPECT_EQ(task.choice.time, SimTime{1000}) << task.name;
  }
  EXPECT_GT(reorders, 0);
}

TEST(ChooseKernels, OfMovementsAMeasuredOneWinsOnlyIfItIsQuickerThanTheRule) {
  TensorSpec spec{{1000}, DType::f32};
  Movement sum{0, {Sum{.count = 2}, {spec, spec}, Phase::forward, {}}, std::vector<Layout>(3)};
  DeviceSpec device{.name = "cpu", .kind = "cpu"};
  SimTime by_rule = roofline_time(device, flops_of(sum.key), bytes_of(sum.key));
  for (SimTime measured : {by_rule - SimTime{1}, by_rule + SimTime{1}}) {
    Candidate one{.algorithm = "unmeasured", .layouts = sum.layouts};
    Candidate other{.algorithm = "measured", .layouts = sum.layouts, .time = measured};
    for (bool one_first : {true, false}) {
      KernelTable table;
      table.insert({"cpu", sum.key}, one_first ? std::vector{one, other} : std::vector{other, one});
      KernelChoice choice = choose_kernel(sum, device, table).value();
      EXPECT_EQ(choice.algorithm, measured < by_rule ? "measured" : "unmeasured");
      EXPECT_EQ(choice.time, std::min(measured, by_rule));
    }
  }
}

TEST(PlaceBuffers, InPlaceResultsTakeTheMemoryOfOperandsThatDie) {
  Lowered lowered;
  lowered.kernels.in_place = true;
  // Without the residual sum nothing else reads h, so relu may overwrite it.
  lowered.graph.operators[3].inputs[1] = lowered.graph.operators[2].outputs[0];
  LowerRequest request = lowered.request();
  request.optimizer = nullptr;
  TaskGraph graph =
      std::get<TaskGraph>(lower(request, lowered.kernels.answer(rows_needed(request))));
  auto relu = std::ranges::find(graph.buffers, "r", &BufferSpec::name);
  ASSERT_NE(relu, graph.buffers.end());
  ASSERT_TRUE(relu->view_of.valid());
  EXPECT_EQ(graph[relu->view_of].name, "h");
}

TEST(PlaceBuffers, InPlaceResultsLeaveOperandsThatAreStillNeeded) {
  Lowered lowered;
  lowered.kernels.in_place = true;
  TaskGraph graph = lowered.run();
  auto relu_gradient = std::ranges::find(graph.buffers, "d relu.x", &BufferSpec::name);
  ASSERT_NE(relu_gradient, graph.buffers.end());
  // Its operand dies only after the fan-out sum that also reads it, so it must not be overwritten.
  EXPECT_FALSE(relu_gradient->view_of.valid());
}

TEST(ChooseKernels, AHeldViewIsReadPlain) {
  Lowered lowered;
  lowered.graph = parse_graph(R"(graph view
input x f32[8,4]
parameter a.weight f32[6,4] zeros
operator a linear{out=6} (x) [a.weight] -> a
operator flat reshape{shape=[48]} (a) [] -> flat
output logits flat
)");
  lowered.kernels.wants["linear"] = {Layout::plain, Layout::plain, Layout::transposed};
  LowerRequest request = lowered.request();
  request.optimizer = nullptr;
  KernelTable table = lowered.kernels.answer(rows_needed(request));
  LowerResult result = lower(request, table);
  table = lowered.kernels.answer(std::get<MissingRows>(result).rows, table);
  TaskGraph graph = std::get<TaskGraph>(lower(request, table));
  BufferId held = graph.root(graph.outputs.at("logits"));
  EXPECT_EQ(graph[held].layout, Layout::plain);
  EXPECT_EQ(graph.tasks.back().name, "a to plain");
}

TEST(Lower, AlgorithmsThatDoNotExistAreInfeasible) {
  Lowered lowered;
  lowered.strategy.sync.algorithms = "rign:0-max";
  LowerResult result = lower(lowered.request(), {});
  ASSERT_TRUE(std::holds_alternative<Infeasible>(result));
  EXPECT_NE(std::get<Infeasible>(result).reason.find("rign"), std::string::npos);
}

TEST(PlaceBuffers, ArenaIsSmallerThanTheSumOfItsBuffers) {
  Lowered lowered;
  TaskGraph graph = lowered.run();
  Bytes sum;
  for (const BufferSpec& buffer : graph.buffers)
    sum += buffer.persistent || buffer.view_of.valid() ? Bytes{} : buffer.bytes();
  EXPECT_LT(graph.arena[0], sum);
  MemoryTable memory = memory_of(graph, DeviceId(0u));
  Bytes categories;
  for (const auto& [category, bytes] : memory.categories) categories += bytes;
  EXPECT_LE(categories, memory.total());
  EXPECT_EQ(memory.categories.at(Category::optimizer), Bytes{3 * 4 * 4});
}

const BufferSpec& buffer(const TaskGraph& graph, const std::string& name) {
  auto found = std::ranges::find(graph.buffers, name, &BufferSpec::name);
  TROIKA_CHECK(found != graph.buffers.end(), name);
  return *found;
}

TEST(Lower, HoldsOnlyTheOutputsAskedFor) {
  Lowered lowered;
  lowered.graph.outputs.push_back({"hidden", find_tensor(lowered.graph, "h")});
  TaskGraph graph = lowered.forward({"logits"});
  EXPECT_FALSE(graph.outputs.contains("hidden"));
  EXPECT_FALSE(buffer(graph, "h").held);
  EXPECT_EQ(lowered.forward({"logits", "hidden"}).outputs.size(), 2u);
}

TEST(Lower, RunningStatisticsAskForNoGradient) {
  Lowered lowered;
  lowered.graph = parse_graph(R"(graph norm
input x f32[8,4]
input target i32[8]
input weight f32[8]
parameter norm.gamma f32[4] ones frozen
parameter norm.beta f32[4] zeros frozen
parameter norm.running_mean f32[4] zeros state
parameter norm.running_var f32[4] ones state
parameter b.weight f32[3,4] uniform 0.5
operator norm batch_norm{} (x) [norm.gamma norm.beta norm.running_mean norm.running_var] -> y
operator b linear{out=3} (y) [b.weight] -> logits
operator loss cross_entropy{} (logits target weight) [] -> loss_sum weight_sum
loss loss_sum weight_sum
)");
  std::vector<std::string> tasks = names(lowered.run());
  EXPECT_EQ(std::ranges::count(tasks, "b backward_weight"), 1);
  for (const std::string& task : tasks) {
    EXPECT_NE(task, "b backward_data");
    EXPECT_FALSE(task.starts_with("norm backward")) << task;
  }
}

TEST(ChooseKernels, TakesTheFastestByItsMeasuredTime) {
  Lowered lowered;
  lowered.kernels.slow_first = true;
  for (const Task& task : lowered.run().tasks)
    EXPECT_EQ(task.choice.algorithm, "fake") << task.name;
}

TEST(PlaceBuffers, InPlaceResultsLeaveWhatTheHostReads) {
  Lowered lowered;
  lowered.kernels.in_place = true;
  lowered.graph.outputs = {{"h", find_tensor(lowered.graph, "h")},
                           {"r", find_tensor(lowered.graph, "r")}};
  TaskGraph graph = lowered.forward({"h", "r"});
  EXPECT_EQ(graph.tasks.back().name, "relu forward");
  EXPECT_FALSE(buffer(graph, "r").view_of.valid());
}

TEST(PlaceBuffers, InPlaceResultsLeaveAnOperandThatIsReadTwiceAtOnce) {
  Lowered lowered;
  lowered.kernels.in_place = true;
  TensorId relu = find_tensor(lowered.graph, "r");
  lowered.graph.operators[3].inputs = {relu, relu};
  EXPECT_FALSE(buffer(lowered.forward({"logits"}), "s").view_of.valid());
}

TEST(PlaceBuffers, AChainOfInPlaceResultsLivesInOneMemory) {
  Lowered lowered;
  lowered.kernels.in_place = true;
  // relu overwrites h, and the sum with x overwrites both.
  lowered.graph.operators[3].inputs = {find_tensor(lowered.graph, "r"),
                                       find_tensor(lowered.graph, "x")};
  TaskGraph graph = lowered.forward({"logits"});
  BufferId sum(static_cast<std::size_t>(&buffer(graph, "s") - graph.buffers.data()));
  EXPECT_EQ(graph[graph.root(sum)].name, "h");
}

TEST(Verify, CatchesBuffersThatOverlap) {
  Lowered lowered;
  TaskGraph graph = lowered.run();
  for (BufferSpec& buffer : graph.buffers) buffer.offset = {};
  EXPECT_THROW(verify(graph, Stage::placed), Bug);
}

TEST(Verify, CatchesAReadBeforeItsWrite) {
  Lowered lowered;
  TaskGraph graph = lowered.run();
  std::swap(graph.tasks[0], graph.tasks[1]);
  EXPECT_THROW(verify(graph, Stage::expanded), Bug);
}

}  // namespace
}  // namespace troika
