// Updates in slices: each device that stores a region updates a part of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "lower/testing/lowered.h"
#include "strategy/ready.h"
#include "taskgraph/memory_table.h"

namespace troika {
namespace {

/// Weights of few rows, so that rows alone could not be divided; of the bias there is less than
/// there are replicas.
constexpr const char* kFewRows = R"(graph few
input x f32[8,64]
input target i32[8]
input weight f32[8]
parameter a.weight f32[3,64] uniform 0.5
parameter a.bias f32[3] zeros
operator a linear{out=3} (x) [a.weight] -> a
operator a.bias bias{} (a) [a.bias] -> logits
operator loss cross_entropy{} (logits target weight) [] -> loss_sum weight_sum
output logits logits
loss loss_sum weight_sum
)";

struct FewRows : Lowered {
  explicit FewRows(std::size_t devices) {
    graph = parse_graph(kFewRows);
    machine.devices.resize(devices);
    strategy = data_parallel(graph, machine);
    optimizer = {.rules = {{"a.weight", Adam{}}, {"a.bias", Adam{}}}};
  }
};

TEST(SlicedUpdate, DividesTheOptimizersMemoryByTheReplicas) {
  for (std::size_t devices : {2, 4, 8}) {
    FewRows lowered(devices);
    std::int64_t all = memory_of(lowered.run(), DeviceId(0u)).categories[Category::optimizer].count;
    lowered.strategy.sync.sliced_update = true;
    TaskGraph sliced = lowered.run();
    constexpr std::int64_t kMoments = 2 * 4;  // bytes an element
    std::int64_t row = 64 * kMoments, bias = 3 * kMoments, sum = 0;
    ASSERT_EQ(all, 3 * row + bias);
    for (std::size_t at = 0; at < devices; ++at) {
      std::int64_t own = memory_of(sliced, DeviceId(at)).categories[Category::optimizer].count;
      // All have parts of one length: of three numbers two devices have two each, more devices all
      // of them.
      auto owners = static_cast<std::int64_t>(devices);
      EXPECT_EQ(own, 3 * row / owners + (devices == 2 ? 2 * kMoments : bias))
          << devices << " devices";
      sum += own;
    }
    EXPECT_GE(sum, 3 * row + bias);
  }
}

/// Two devices, each with so many parts of a weight of 1200 rows.
LowerResult lower_parts(Lowered& lowered, std::int64_t parts) {
  lowered.graph = parse_graph(R"(graph parts
input x f32[4,2]
input target i32[4]
input weight f32[4]
parameter a.weight f32[1200,2] uniform 0.5
operator a linear{out=1200} (x) [a.weight] -> logits
operator loss cross_entropy{} (logits target weight) [] -> loss_sum weight_sum
loss loss_sum weight_sum
)");
  lowered.optimizer = {.rules = {{"a.weight", Sgd{}}}};
  lowered.machine.devices.resize(2);
  lowered.strategy.sync.sliced_update = true;
  lowered.strategy.splits["a"] = {
      .factors = {{.axis = "n", .degree = 2}, {.axis = "o", .degree = parts, .stride = 0}}};
  LowerRequest request = lowered.request();
  request.outputs.clear();
  KernelTable table;
  LowerResult result = lower(request, table);
  while (auto* missing = std::get_if<MissingRows>(&result)) {
    table = lowered.kernels.answer(missing->rows, table);
    result = lower(request, table);
  }
  return result;
}

TEST(SlicedUpdate, GathersNoPartBeforeItsUpdate) {
  Lowered lowered;
  TaskGraph graph = std::get<TaskGraph>(lower_parts(lowered, 300));
  std::optional<Turn> last_update, first_gather;
  for (const Task& task : graph.tasks) {
    if (task.device.value != 0) continue;
    if (task.computes() && task.key.phase == Phase::update &&
        std::holds_alternative<Sgd>(task.key.op))
      last_update = std::max(last_update.value_or(task.turn), task.turn);
    if (task.kind == TaskKind::start &&
        graph[task.communication].call.kind == Collective::all_gather)
      first_gather = std::min(first_gather.value_or(task.turn), task.turn);
  }
  ASSERT_TRUE(last_update && first_gather);
  EXPECT_LT(*last_update, *first_gather);
}

TEST(SlicedUpdate, OfMorePartsThanTurnsCountIsInfeasible) {
  Lowered lowered;
  LowerResult refused = lower_parts(lowered, 1200);
  ASSERT_TRUE(std::holds_alternative<Infeasible>(refused));
  EXPECT_NE(std::get<Infeasible>(refused).reason.find("more updates of one parameter"),
            std::string::npos)
      << std::get<Infeasible>(refused).reason;
}

TEST(SlicedUpdate, SumsUpPartsOfRowsInOneMessage) {
  FewRows lowered(8);
  lowered.strategy.sync.sliced_update = true;
  TaskGraph tasks = lowered.run();
  std::map<Collective, int> kinds;
  for (const Communication& communication : tasks.communications)
    if (communication.name.starts_with("d a.weight") || communication.name.starts_with("a.weight"))
      ++kinds[communication.call.kind];
  EXPECT_EQ(kinds, (std::map<Collective, int>{{Collective::reduce_scatter, 1},
                                              {Collective::all_gather, 1}}));
}

TEST(SlicedUpdate, TasksAndBuffersGrowNoFasterThanTheDevices) {
  auto sizes = [](std::size_t devices) {
    FewRows lowered(devices);
    lowered.optimizer.rules.erase("a.bias");
    lowered.strategy.sync.sliced_update = true;
    TaskGraph tasks = lowered.run();
    return std::pair(tasks.tasks.size(), tasks.buffers.size());
  };
  EXPECT_LE(sizes(8).first, 4 * sizes(2).first);
  EXPECT_LE(sizes(8).second, 4 * sizes(2).second);
}

constexpr const char* kShared = R"(graph shared
input x f32[8,4]
input target i32[8]
input weight f32[8]
parameter both.weight f32[4,4] uniform 0.5
operator a linear{out=4} (x) [both.weight] -> a
operator b linear{out=4} (a) [both.weight] -> logits
operator loss cross_entropy{} (logits target weight) [] -> loss_sum weight_sum
output logits logits
loss loss_sum weight_sum
)";

/// The third device stores rows [2, 4) and rows [0, 3). Both have a row in common; a state that
/// they shared would be updated twice a step.
TEST(SlicedUpdate, KeepsAStateForEachPartWhereSlicesOfADeviceOverlap) {
  Lowered lowered;
  lowered.graph = parse_graph(kShared);
  lowered.machine.devices.resize(4);
  DeviceId first(0u), second(1u), third(2u), fourth(3u);
  lowered.strategy.splits = {
      {"a", {.factors = {{"o", 2}, {"", 2}}, .devices = {first, second, third, fourth}}},
      {"b",
       {.factors = {{.axis = "o", .degree = 2, .weights = {3, 1}}, {"", 3}},
        .devices = {first, second, third, first, second, fourth}}}};
  lowered.strategy.sync.sliced_update = true;
  lowered.optimizer = {.rules = {{"both.weight", Sgd{.momentum = 0.9}}}};
  TaskGraph tasks = lowered.run();
  std::vector<Region> states;
  for (const BufferSpec& buffer : tasks.buffers)
    if (buffer.part_of == "both.weight.momentum" && buffer.device == third)
      states.push_back(buffer.region);
  EXPECT_EQ(states, (std::vector<Region>{{{{2, 4}, {0, 4}}}, {{{0, 3}, {0, 4}}}}));
}

TEST(SlicedUpdate, StoresPlainWhatKernelsWantOtherwise) {
  OnDevices lowered(2, data_parallel);
  lowered.kernels.wants["linear"] = {Layout::plain, Layout::transposed, Layout::plain};
  auto layout_of = [](const TaskGraph& tasks) {
    return std::ranges::find(tasks.buffers, "b.weight", &BufferSpec::part_of)->layout;
  };
  EXPECT_EQ(layout_of(lowered.forward({"logits"})), Layout::transposed);
  lowered.strategy.sync.sliced_update = true;
  EXPECT_EQ(layout_of(lowered.run()), Layout::plain);
  EXPECT_EQ(layout_of(lowered.forward({"logits"})), Layout::plain);  // the same state
}

}  // namespace
}  // namespace troika
