#include "lower/testing/graph_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "lower/testing/lowered.h"
#include "strategy/ready.h"

namespace troika {
namespace {

using testing::ElementsAre;

std::vector<std::int32_t> classes_of(const TaskGraph& graph, const Machine& machine) {
  return refine_naively(machine, facts_of(machine, graph)).of_device;
}

/// Four devices: each computes a value, which the first two and the last two add up.
struct TwoSums {
  TaskGraph graph;
  Machine machine{std::vector<DeviceSpec>(4)};

  TwoSums() {
    for (std::size_t pair = 0; pair < 2; ++pair)
      graph.communications.push_back({.call = equal_parts(Collective::all_reduce, 2, 8),
                                      .devices = {DeviceId(2 * pair), DeviceId(2 * pair + 1)},
                                      .algorithm = "ring"});
    for (std::size_t device = 0; device < 4; ++device) add_device(DeviceId(device));
    graph.dependencies = find_dependencies(graph);
  }

  void add_device(DeviceId device) {
    BufferId x = add_buffer(device), y = add_buffer(device);
    KernelKey key{.op = Activation{}, .inputs = {{Shape{1, 8, 1, 1}, DType::f32}}};
    graph.tasks.push_back({.device = device,
                           .key = key,
                           .choice = {"fake", {Layout::plain, Layout::plain}, {}, {1000}},
                           .uses = {{x, Access::read}, {y, Access::write}}});
    for (TaskKind kind : {TaskKind::start, TaskKind::finish})
      graph.tasks.push_back({.device = device,
                             .uses = {{y, Access::update}},
                             .kind = kind,
                             .communication = CommunicationId(device.index() / 2),
                             .member = static_cast<int>(device.index() % 2)});
    graph.communications[device.index() / 2].buffers.push_back(y);
  }
  BufferId add_buffer(DeviceId device) {
    graph.buffers.push_back({.spec = {Shape{1, 8, 1, 1}, DType::f32}, .device = device});
    return BufferId(graph.buffers.size() - 1);
  }

  Task& last_compute() { return graph.tasks[9]; }
  BufferSpec& last_buffer() { return graph.buffers.back(); }
  Communication& last_sum() { return graph.communications.back(); }

  std::vector<std::int32_t> classes() const { return classes_of(graph, machine); }
};

using Change = std::function<void(TwoSums&)>;

std::vector<std::int32_t> classes_after(const Change& change) {
  TwoSums sums;
  change(sums);
  return sums.classes();
}

TEST(GraphFacts, DevicesThatDoTheSameAreOneClass) {
  EXPECT_THAT(TwoSums().classes(), ElementsAre(0, 0, 0, 0));
}

TEST(GraphFacts, NamesAndPlacesInMemoryAreNoDifference) {
  EXPECT_THAT(classes_after([](TwoSums& sums) {
                sums.last_compute().name = "other";
                sums.last_compute().id = {3, 4};
                sums.last_buffer().name = "other";
                sums.last_buffer().offset = {64};
                sums.last_buffer().part_of = "w";
                sums.last_sum().name = "other";
                sums.machine.devices[3].name = "other";
              }),
              ElementsAre(0, 0, 0, 0));
}

TEST(GraphFacts, WhatADeviceDoesOtherwiseParts) {
  const Change changes[] = {
      [](TwoSums& sums) { sums.machine.devices[3].kind = "other"; },
      [](TwoSums& sums) { sums.last_compute().key.op = Activation{.kind = ActivationKind::tanh}; },
      [](TwoSums& sums) { sums.last_compute().choice.algorithm = "other"; },
      [](TwoSums& sums) { sums.last_compute().choice.layouts[1] = Layout::channels_last; },
      [](TwoSums& sums) { sums.last_compute().choice.time = {1001}; },
      [](TwoSums& sums) { sums.last_compute().is_update = true; },
      [](TwoSums& sums) { sums.last_compute().lag = 1; },
      [](TwoSums& sums) { sums.last_compute().uses[1].access = Access::update; },
      [](TwoSums& sums) { sums.last_compute().uses[1] = sums.last_compute().uses[0]; },
      [](TwoSums& sums) {
        sums.last_compute().scratch = sums.add_buffer(DeviceId(std::size_t{3}));
      },
      [](TwoSums& sums) { sums.last_buffer().spec.shape = Shape{9}; },
      [](TwoSums& sums) { sums.last_buffer().spec.dtype = DType::i32; },
      [](TwoSums& sums) { sums.last_buffer().layout = Layout::channels_last; },
      [](TwoSums& sums) { sums.last_buffer().category = Category::gradient; },
      [](TwoSums& sums) { sums.last_buffer().persistent = true; },
      [](TwoSums& sums) { sums.last_buffer().held = true; },
      [](TwoSums& sums) { sums.last_buffer().view_of = sums.last_compute().uses[0].buffer; },
      [](TwoSums& sums) { std::swap(sums.graph.tasks[9], sums.graph.tasks[10]); },
      [](TwoSums& sums) {
        sums.graph.dependencies.push_back({9, 9, 1});
      },
      [](TwoSums& sums) { sums.graph.tasks.push_back(sums.last_compute()); },
  };
  // Its partner differs too, by its communication.
  for (std::size_t at = 0; at < std::size(changes); ++at)
    EXPECT_THAT(classes_after(changes[at]), ElementsAre(0, 0, 1, 2)) << "change " << at;
}

TEST(GraphFacts, CommunicationsThatDifferPart) {
  const Change changes[] = {
      [](TwoSums& sums) { sums.last_sum().call.kind = Collective::all_gather; },
      [](TwoSums& sums) { sums.last_sum().call.count = 4; },
      [](TwoSums& sums) { sums.last_sum().dtype = DType::i32; },
      [](TwoSums& sums) { sums.last_sum().rule = CombineRule::max; },
      [](TwoSums& sums) { sums.last_sum().algorithm = "tree"; },
      [](TwoSums& sums) { sums.last_sum().time = {5}; },
  };
  for (std::size_t at = 0; at < std::size(changes); ++at)
    EXPECT_THAT(classes_after(changes[at]), ElementsAre(0, 0, 1, 1)) << "change " << at;
}

TEST(GraphFacts, MembersDifferByTheirRole) {
  EXPECT_THAT(classes_after([](TwoSums& sums) {
                for (auto& sum : sums.graph.communications) sum.call.kind = Collective::broadcast;
              }),
              ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(classes_after([](TwoSums& sums) {
                for (auto& sum : sums.graph.communications)
                  sum.call.kind = Collective::all_gather, sum.call.ranges = {{0, 5}, {5, 8}};
              }),
              ElementsAre(0, 1, 0, 1));
}

TEST(GraphFacts, FirstDifferenceShowsBothLines) {
  TwoSums sums;
  sums.last_compute().is_update = true;
  RefinementFacts facts = facts_of(sums.machine, sums.graph);
  EXPECT_EQ(first_difference(facts, 0, 1), "");
  EXPECT_THAT(first_difference(facts, 0, 3),
              testing::MatchesRegex("compute activation.*\ncompute update activation.*"));
}

TEST(GraphFacts, DataParallelIsOneClassPerSizeOfTile) {
  auto classes = [](std::size_t devices) {
    OnDevices lowered(devices, data_parallel);
    return classes_of(lowered.run(), lowered.machine);
  };
  for (std::size_t devices : {2, 4, 8}) EXPECT_THAT(classes(devices), testing::Each(0));
  EXPECT_THAT(classes(5), ElementsAre(0, 0, 0, 1, 1));  // of eight samples
}

}  // namespace
}  // namespace troika
