// What lowering adds where a strategy names several devices: messages, their places in the list,
// slices of the state.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "lower/testing/found_messages.h"
#include "machine/cluster.h"
#include "strategy/ready.h"
#include "taskgraph/memory_table.h"

namespace troika {
namespace {

using MakeStrategy = std::function<Strategy(const Graph&, const Machine&)>;

// Rows of an image cut in two need one more row of the other half.
constexpr const char* kImages = R"(graph images
input x f32[2,3,8,8]
input target i32[2]
input weight f32[2]
parameter conv.weight f32[4,3,3,3] uniform 0.5
parameter fc.weight f32[3,4] uniform 0.5
operator pre activation{} (x) [] -> pre
operator conv conv2d{out=4,kernel=[3,3],pad=[1,1],pad_end=[1,1]} (pre) [conv.weight] -> conv
operator pool global_pool{} (conv) [] -> pool
operator fc linear{out=3} (pool) [fc.weight] -> logits
operator loss cross_entropy{} (logits target weight) [] -> loss_sum weight_sum
output logits logits
loss loss_sum weight_sum
)";

struct Images : Lowered {
  Images(std::size_t devices, const MakeStrategy& make) {
    graph = parse_graph(kImages);
    machine.devices.resize(devices);
    strategy = make(graph, machine);
    optimizer = {.rules = {{"conv.weight", Sgd{}}, {"fc.weight", Sgd{}}}};
  }
};

std::int64_t elements_of(const std::vector<Communication>& communications) {
  return std::accumulate(communications.begin(), communications.end(), std::int64_t{0},
                         [](std::int64_t sum, const Communication& communication) {
                           return sum + communication.call.count;
                         });
}

/// Tasks of a device that compute with this memory.
std::vector<std::size_t> users_of(const TaskGraph& graph, BufferId buffer) {
  std::vector<std::size_t> users;
  for (std::size_t at = 0; at < graph.tasks.size(); ++at)
    for (const BufferUse& use : graph.tasks[at].uses)
      if (graph.tasks[at].computes() && graph.root(use.buffer) == graph.root(buffer))
        users.push_back(at);
  return users;
}

TEST(AllToAll, BringsSamplesToColumnsAndBack) {
  TaskGraph tasks = ColumnsBetweenSamples().run();
  auto trades = communications_of(tasks, Collective::all_to_all, Category::activation);
  ASSERT_EQ(trades.size(), 4u);  // there and back, forward and backward
  EXPECT_EQ(trades[0].call.count, 3 * 4 * 8);
  EXPECT_EQ(tasks[trades[0].buffers[0]].spec.shape, (Shape{2 * 3 * 4 * 8}));
}

TEST(DataParallel, AddsUpEveryGradientInAMessageOfItsOwnWhereBucketsAreSmall) {
  OnDevices lowered(2, data_parallel);
  lowered.strategy.sync.bucket = {1};
  TaskGraph tasks = lowered.run();
  auto sums = communications_of(tasks, Collective::all_reduce, Category::gradient);
  EXPECT_EQ(sums.size(), 3u);
  EXPECT_EQ(elements_of(sums), 16 + 4 + 12);  // a.weight, a.bias, b.weight
}

TEST(DataParallel, UsesTheLinksInsideANodeIfTheyAreListed) {
  auto load_at = [](double rate) {
    OnDevices lowered(2, data_parallel);
    lowered.machine = make_machine(
        {.nodes = {{.devices = 2}},
         .node_link = {.bytes_per_second = rate, .latency = {0}, .overhead = SimTime{}}});
    TaskGraph tasks = lowered.run();
    auto sums = communications_of(tasks, Collective::all_reduce, Category::gradient);
    EXPECT_NE(sums.at(0).algorithm, "direct") << "no memory is shared";
    SimTime load{}, work{};
    for (const LinkLoad& each : sums.at(0).phases.get()->loads) load += each.time;
    for (const MessagePhase& phase : sums.at(0).phases.get()->phases) work += phase.work;
    // Each device combines its vector with that of the other one as it arrives, and copies nothing.
    Bytes vector{sums.at(0).call.count * 4};
    EXPECT_EQ(work, combine_time(assumed_link_costs().node, vector)) << rate;
    return load;
  };
  EXPECT_GT(load_at(1e9), SimTime{});
  EXPECT_EQ(load_at(0.5e9), load_at(1e9) * 2);
}

TEST(DataParallel, GradientsTravelInOneBucketUpToItsSize) {
  OnDevices lowered(2, data_parallel);
  TaskGraph tasks = lowered.run();
  auto sums = communications_of(tasks, Collective::all_reduce, Category::gradient);
  ASSERT_EQ(sums.size(), 1u);
  EXPECT_EQ(sums[0].name, "bucket of 3 gradients");
  EXPECT_EQ(sums[0].call.count, 3 * 16);  // each at the start of a cache line
  lowered.strategy.sync.bucket = {2 * 64};
  TaskGraph two = lowered.run();
  EXPECT_EQ(communications_of(two, Collective::all_reduce, Category::gradient).size(), 2u);
}

TEST(DataParallel, GradientsAreWrittenWhereTheyLieInTheirBucket) {
  TaskGraph tasks = OnDevices(2, data_parallel).run();
  auto sums = communications_of(tasks, Collective::all_reduce, Category::gradient);
  for (BufferId bucket : sums.at(0).buffers) {
    std::vector<std::pair<std::int64_t, std::int64_t>> parts;
    for (const BufferSpec& buffer : tasks.buffers)
      if (buffer.view_of == bucket)
        parts.emplace_back(buffer.view_offset.count, buffer.bytes().count);
    std::ranges::sort(parts);
    ASSERT_EQ(parts.size(), 3u);
    for (std::size_t i = 1; i < parts.size(); ++i)
      EXPECT_GE(parts[i].first, parts[i - 1].first + parts[i - 1].second);
    EXPECT_LE(parts[2].first + parts[2].second, tasks[bucket].bytes().count);
  }
}

TEST(DataParallel, UpdatesWaitForTheSumAndTheSumForTheLastGradient) {
  TaskGraph tasks = OnDevices(2, data_parallel).run();
  auto sums = communications_of(tasks, Collective::all_reduce, Category::gradient);
  for (int member : {0, 1}) {
    std::size_t start = place_of(tasks, sums.at(0), TaskKind::start, member);
    std::size_t finish = place_of(tasks, sums.at(0), TaskKind::finish, member);
    int before = 0, behind = 0;
    for (std::size_t user : users_of(tasks, sums[0].buffers[static_cast<std::size_t>(member)])) {
      bool updates = tasks.tasks[user].is_update;
      EXPECT_TRUE(updates ? user > finish : user < start) << tasks.tasks[user].name;
      ++(updates ? behind : before);
    }
    EXPECT_GE(before, 3);
    EXPECT_EQ(behind, 3);
  }
}

TEST(DataParallel, EveryDeviceHasWholeParametersAndItsShareOfTheSamples) {
  TaskGraph tasks = OnDevices(4, data_parallel).run();
  std::map<std::string, int> replicas;
  std::int64_t samples = 0;
  for (const BufferSpec& buffer : tasks.buffers) {
    if (buffer.category == Category::parameter && buffer.persistent) {
      EXPECT_EQ(buffer.spec.shape, buffer.whole);
      ++replicas[buffer.part_of];
    }
    if (buffer.part_of == "x") samples += buffer.spec.shape[0];
  }
  EXPECT_EQ(replicas,
            (std::map<std::string, int>{{"a.weight", 4}, {"a.bias", 4}, {"b.weight", 4}}));
  EXPECT_EQ(samples, 8);
}

/// Names of the messages of gradients, and how long they are.
std::map<std::string, std::int64_t> buckets_of(const TaskGraph& tasks) {
  std::map<std::string, std::int64_t> buckets;
  for (const Communication& sum :
       communications_of(tasks, Collective::all_reduce, Category::gradient))
    buckets[sum.name] += sum.call.count;
  return buckets;
}

TEST(DataParallel, GradientsTravelTogetherWithAndWithoutOverlap) {
  OnDevices lowered(2, data_parallel);
  std::map<std::string, std::int64_t> with = buckets_of(lowered.run());
  EXPECT_EQ(with.size(), 1u);
  lowered.strategy.sync.overlap = false;
  EXPECT_EQ(buckets_of(lowered.run()), with);
}

TEST(DataParallel, DependenciesGrowNoFasterThanTheDevices) {
  auto dependencies = [](std::size_t devices) {
    OnDevices lowered(devices, data_parallel);
    return lowered.run().dependencies.size();
  };
  EXPECT_LE(dependencies(8), 4 * dependencies(2));
}

TEST(SlicedUpdate, CutsTheOptimizersMemoryByTheReplicasAndGathersTheWeights) {
  OnDevices lowered(2, data_parallel);
  lowered.optimizer.rules = {{"a.weight", Adam{}}, {"a.bias", Adam{}}};
  TaskGraph whole = lowered.run();
  lowered.strategy.sync.sliced_update = true;
  TaskGraph sliced = lowered.run();
  for (DeviceId device : {DeviceId(0u), DeviceId(1u)}) {
    Bytes all = memory_of(whole, device).categories.at(Category::optimizer);
    Bytes part = memory_of(sliced, device).categories.at(Category::optimizer);
    EXPECT_EQ(all.count, 2 * (16 + 4) * 4);
    EXPECT_EQ(part.count * 2, all.count);
  }
  auto gathered = communications_of(sliced, Collective::all_gather, Category::parameter);
  EXPECT_EQ(elements_of(gathered), 16 + 4);
  auto scattered = communications_of(sliced, Collective::reduce_scatter, Category::gradient);
  EXPECT_EQ(elements_of(scattered), 16 + 4);
}

TEST(TensorParallel, SendsActivationsAndStoresHalvesOfTheWeights) {
  TaskGraph tasks = OnDevices(2, tensor_parallel).run();
  auto scattered = communications_of(tasks, Collective::reduce_scatter, Category::activation);
  ASSERT_EQ(scattered.size(), 1u);  // the partial logits, each device's samples to itself
  EXPECT_EQ(scattered[0].call.count, 8 * 3);
  EXPECT_EQ(communications_of(tasks, Collective::all_reduce, Category::gradient).size(), 0u);
  for (const BufferSpec& buffer : tasks.buffers) {
    if (buffer.category == Category::parameter && buffer.persistent) {
      EXPECT_EQ(buffer.spec.shape.elements() * 2, buffer.whole.elements()) << buffer.name;
    }
  }
}

TEST(TensorParallel, AddsUpActivationsWhereTheNextOperatorNeedsThemWhole) {
  OnDevices lowered(2, tensor_parallel);
  lowered.strategy.splits["loss"] = {.factors = {{"", 2}}, .devices = {DeviceId(0u), DeviceId(1u)}};
  TaskGraph tasks = lowered.run();
  auto sums = communications_of(tasks, Collective::all_reduce, Category::activation);
  ASSERT_EQ(sums.size(), 1u);
  EXPECT_EQ(sums[0].call.count, 8 * 3);
}

/// Elements of each message about this value, in the order of the graph.
std::vector<std::int64_t> messages_about(const TaskGraph& tasks, const std::string& value) {
  std::vector<std::int64_t> elements;
  for (const Communication& communication : tasks.communications)
    if (communication.name.starts_with(value)) elements.push_back(communication.call.count);
  return elements;
}

TEST(Spatial, SendsJustTheRowsOfTheHalo) {
  std::int64_t row = 2 * 3 * 8;  // of both images
  EXPECT_EQ(messages_about(Images(2, spatial_parallel).run(), "pre "),
            (std::vector<std::int64_t>(2, row)));
  EXPECT_EQ(messages_about(Images(4, spatial_parallel).run(), "pre "),
            (std::vector<std::int64_t>(6, row)));  // up and down between four neighbours
}

/// Whole operators: this one and those listed behind it on device 1, the others on device 0.
Strategy on_device_1_from(const std::string& first, const Graph& graph) {
  Strategy strategy;
  auto from = std::ranges::find(graph.operators, first, &Operator::name);
  for (auto op = from; op != graph.operators.end(); ++op)
    strategy.splits[op->name] = {.devices = {DeviceId(1u)}};
  return strategy;
}

TEST(Placement, SendsWhatTheNextDeviceReadsAndNothingElse) {
  TaskGraph tasks = OnDevices(2, [](const Graph& graph, const Machine&) {
                      return on_device_1_from("b", graph);
                    }).run();
  EXPECT_EQ(messages_about(tasks, "s "), (std::vector<std::int64_t>{8 * 4}));
  EXPECT_EQ(messages_about(tasks, "d s"), (std::vector<std::int64_t>{8 * 4}));
  EXPECT_EQ(communications_of(tasks, Collective::all_reduce, Category::gradient).size(), 0u);
}

TEST(Placement, AMessageCarriesAViewOfABlockedBufferPlain) {
  OnDevices lowered(2, data_parallel);
  lowered.graph = parse_graph(R"(graph view
input x f32[8,4]
parameter a.weight f32[6,4] zeros
operator a linear{out=6} (x) [a.weight] -> a
operator flat reshape{shape=[48]} (a) [] -> flat
operator relu activation{} (flat) [] -> r
output logits r
)");
  lowered.strategy = on_device_1_from("relu", lowered.graph);
  lowered.kernels.wants["linear"] = {Layout::plain, Layout::plain, Layout::transposed};
  TaskGraph tasks = lowered.forward({"logits"});
  const Communication& message = tasks.communications.at(0);
  ASSERT_EQ(message.name, "flat broadcast");
  EXPECT_EQ(tasks[tasks.root(message.buffers[0])].layout, Layout::plain);
  std::size_t start = place_of(tasks, message, TaskKind::start, 0);
  EXPECT_EQ(tasks.tasks.at(start - 1).name, "a to plain");
}

TEST(PredictedMemory, OfADeviceCountsItsOwnBuffersAlone) {
  OnDevices lowered(2, data_parallel);
  TaskGraph tasks = lowered.run();
  TaskGraph single = Lowered().run();
  MemoryTable first = memory_of(tasks, DeviceId(0u)), second = memory_of(tasks, DeviceId(1u));
  EXPECT_EQ(first.categories.at(Category::parameter), second.categories.at(Category::parameter));
  EXPECT_EQ(first.categories.at(Category::parameter),
            memory_of(single, DeviceId(0u)).categories.at(Category::parameter));
  EXPECT_EQ(first.arena, tasks.arena[0]);
  EXPECT_EQ(second.arena, tasks.arena[1]);
}

bool touches(const TaskGraph& tasks, std::size_t at, BufferId buffer) {
  return std::ranges::any_of(tasks.tasks[at].uses, [&](const BufferUse& use) {
    return tasks.root(use.buffer) == tasks.root(buffer);
  });
}

TEST(OrderOfMessages, StartsRightBehindTheWriterAndEndsRightBeforeTheFirstReader) {
  TaskGraph tasks = OneMessagePerGradient().run();
  int seen = 0;
  for (const Communication& sum :
       communications_of(tasks, Collective::all_reduce, Category::gradient)) {
    for (int member : {0, 1}) {
      BufferId buffer = sum.buffers[static_cast<std::size_t>(member)];
      auto writer = next_computing(tasks, place_of(tasks, sum, TaskKind::start, member), -1);
      auto reader = next_computing(tasks, place_of(tasks, sum, TaskKind::finish, member), +1);
      ASSERT_TRUE(writer && reader) << sum.name;
      EXPECT_TRUE(touches(tasks, *writer, buffer)) << sum.name << ": " << tasks.tasks[*writer].name;
      EXPECT_TRUE(touches(tasks, *reader, buffer)) << sum.name << ": " << tasks.tasks[*reader].name;
      ++seen;
    }
  }
  EXPECT_EQ(seen, 6);
}

TEST(OrderOfMessages, SomethingComputesMeanwhileUnlessOverlapIsOff) {
  for (bool overlap : {true, false}) {
    OneMessagePerGradient lowered;
    lowered.strategy.sync.overlap = overlap;
    TaskGraph tasks = lowered.run();
    int beside = 0;
    for (const Communication& sum :
         communications_of(tasks, Collective::all_reduce, Category::gradient)) {
      std::size_t start = place_of(tasks, sum, TaskKind::start, 0);
      std::size_t finish = place_of(tasks, sum, TaskKind::finish, 0);
      for (std::size_t at : tasks_on(tasks, DeviceId(0u)))
        beside += at > start && at < finish && tasks.tasks[at].computes();
    }
    EXPECT_EQ(beside > 0, overlap);
  }
}

/// Under a fixed order numbers are added up in pairs, one sum after the other.
TEST(SeveralDevices, TotalsOfMoreNumbersThanTurnsCountAreInfeasible) {
  Lowered model;
  model.graph = parse_graph(R"(graph losses
input logits f32[8192,2]
input target i32[8192]
input weight f32[8192]
operator loss cross_entropy{} (logits target weight) [] -> loss_sum weight_sum
output loss_sum loss_sum
)");
  model.machine.devices.resize(2);
  model.strategy = fixed_order(model.graph, model.machine, 8192);
  LowerRequest request = model.request();
  request.optimizer = nullptr;
  request.outputs = {"loss_sum"};
  LowerResult refused = lower(request, {});
  ASSERT_TRUE(std::holds_alternative<Infeasible>(refused));
  EXPECT_NE(std::get<Infeasible>(refused).reason.find("more sums of one output"), std::string::npos)
      << std::get<Infeasible>(refused).reason;
}

}  // namespace
}  // namespace troika
