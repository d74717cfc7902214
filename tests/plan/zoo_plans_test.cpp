// Every ready strategy and random ones fit every model of the zoo on 1 to 8 devices.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "strategy/cut_strategy.h"
#include "strategy/ready.h"
#include "strategy/testing/random_strategy.h"
#include "strategy/tiles.h"
#include "zoo/testing/small_models.h"

namespace troika {
namespace {

constexpr std::int64_t kMostDevices = 8;
constexpr std::uint64_t kRandomStrategies = 40;

Machine cluster(std::int64_t devices, std::int32_t per_node) {
  Machine machine;
  for (std::int32_t at = 0; at < devices; ++at)
    machine.devices.push_back(
        {.name = "cpu", .flops_per_second = 1e9 * (1 + at % 3), .node = at / per_node});
  return machine;
}

/// Graphs of a small model, with this batch and this many shards.
std::vector<zoo::NamedGraph> graphs_of(const std::string& name, std::int64_t batch,
                                       std::int64_t shards) {
  zoo::ModelRequest request = zoo::small_request(name);
  request.samples.batch = batch;
  request.samples.shards = shards;
  return zoo::build(request).graphs;
}

void expect_fits(const Strategy& strategy, const Graph& graph, const Machine& machine,
                 std::string_view made) {
  auto reason = why_infeasible(strategy, graph, machine);
  EXPECT_EQ(reason, std::nullopt) << made << " on " << machine.devices.size() << " devices:\n"
                                  << to_json(strategy);
  EXPECT_EQ(parse_strategy(to_json(strategy)), strategy) << made;
}

/// Each tile is an operator of its own whose tensors are just the regions of the tile: what
/// lowering relies on, found without the checks that strategies are made with.
void expect_tiles_of_cut_graph(const Strategy& strategy, const Graph& graph) {
  for (const Operator& op : graph.operators) {
    Signature whole = signature(graph, op);
    MicroBatch first{0, strategy.micro_batches};
    for (const Tile& tile : tiles_of(whole, strategy.splits.at(op.name), first)) {
      std::vector<TensorSpec> inputs;
      for (int slot : whole.slots_of(Role::input)) {
        const Slot& input = whole.slots[static_cast<std::size_t>(slot)];
        inputs.push_back({region_of(input, tile.box).shape(), input.spec.dtype});
      }
      Signature local = signature(localize(op.op, whole, tile.box), inputs);
      for (std::size_t slot = 0; slot < whole.slots.size(); ++slot)
        ASSERT_EQ(local.slots[slot].spec.shape, region_of(whole.slots[slot], tile.box).shape())
            << op.name << " " << whole.slots[slot].name << " " << to_string(tile.box);
    }
  }
}

void expect_tiles_stand_alone(const Strategy& strategy, const Graph& model) {
  CutGraph cut = cut_layers(model, layer_cuts(strategy, model));
  expect_tiles_of_cut_graph(cut_strategy(strategy, model, cut), cut.graph);
}

/// Operators that every device computes in full.
int replicated(const Strategy& strategy) {
  int count = 0;
  for (const auto& [op, split] : strategy.splits) count += tile_count(split) == 1;
  return count;
}

class ZooPlans : public testing::TestWithParam<std::string> {};

TEST_P(ZooPlans, ReadyStrategiesFitAnyNumberOfDevices) {
  for (auto [batch, shards] : {std::pair{2, 1}, {8, 1}, {8, 4}, {12, 2}}) {
    for (const auto& [name, graph, feeds] : graphs_of(GetParam(), batch, shards)) {
      for (std::int64_t devices = 1; devices <= kMostDevices; ++devices) {
        Machine machine = cluster(devices, 2);
        for (std::string_view ready : ready_names()) {
          Strategy strategy = ready_strategy(ready, graph, machine);
          expect_fits(strategy, graph, machine, ready);
          expect_fits(weighted_by_speed(strategy, graph, machine), graph, machine, "weighted");
        }
      }
      expect_fits(mixed_parallel(graph, {2, 3}), graph, cluster(6, 2), "data 2, tensor 3");
      for (std::int64_t devices : {1, 2, 4, 8})
        if (batch == 8)
          expect_fits(fixed_order(graph, cluster(devices, 2), 8), graph, cluster(devices, 2),
                      "fixed order");
    }
  }
}

TEST_P(ZooPlans, ReadyStrategiesCutWhatTheyCan) {
  for (const auto& [name, graph, feeds] : graphs_of(GetParam(), 8, 4)) {
    for (std::int64_t devices : {2, 4, 8}) {
      for (std::string_view ready : {"data", "tensor", "spatial", "hybrid", "expert"}) {
        Strategy strategy = ready_strategy(ready, graph, cluster(devices, 2));
        EXPECT_EQ(replicated(strategy), 0) << ready << " on " << devices;
        expect_tiles_stand_alone(strategy, graph);
      }
      for (std::string_view ready : {"placed", "branches", "wavefront"})
        expect_tiles_stand_alone(ready_strategy(ready, graph, cluster(devices, 2)), graph);
    }
  }
}

TEST_P(ZooPlans, ReadyStrategiesOfARegularMachineAreViews) {
  for (const auto& [name, graph, feeds] : graphs_of(GetParam(), 16, 1)) {
    std::vector<Strategy> made{mixed_parallel(graph, {4, 4}), fixed_order(graph, cluster(4, 2), 8)};
    for (std::string_view ready : ready_names())
      for (std::int64_t devices : {2, 4, 8, 16})
        made.push_back(ready_strategy(ready, graph, cluster(devices, 2)));
    for (const Strategy& strategy : made)
      for (const auto& [op, split] : strategy.splits) ASSERT_TRUE(is_view(split)) << op;
  }
}

using DrawStrategy = Strategy (*)(const Graph&, const Machine&, std::uint64_t);

void expect_random_fits(DrawStrategy draw, const std::string& model) {
  for (const auto& [name, graph, feeds] : graphs_of(model, 8, 4)) {
    int split = 0;
    for (std::uint64_t seed = 0; seed < kRandomStrategies; ++seed) {
      Machine machine = cluster(static_cast<std::int64_t>(1 + seed % kMostDevices), 4);
      Strategy strategy = draw(graph, machine, seed);
      expect_fits(strategy, graph, machine, fmt::format("seed {}", seed));
      expect_tiles_stand_alone(strategy, graph);
      EXPECT_EQ(draw(graph, machine, seed), strategy);
      EXPECT_NE(draw(graph, machine, seed + 1), strategy);
      for (const auto& [op, how] : strategy.splits) split += tile_count(how) * replicas_of(how) > 1;
    }
    // Most splits that are drawn must be splits indeed.
    EXPECT_GT(split, static_cast<int>(kRandomStrategies * graph.operators.size() / 2));
  }
}

TEST_P(ZooPlans, RandomStrategiesFitAndFollowFromTheirSeed) {
  expect_random_fits(random_strategy, GetParam());
}

TEST_P(ZooPlans, RandomViewsFitAndFollowFromTheirSeed) {
  expect_random_fits(random_view_strategy, GetParam());
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const zoo::Entry& entry : zoo::entries()) names.push_back(entry.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Zoo, ZooPlans, testing::ValuesIn(model_names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace troika
