#include "search/parameter_traffic.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "lower/testing/lowered.h"
#include "strategy/ready.h"
#include "taskgraph/sent_bytes.h"

namespace troika {
namespace {

constexpr std::int64_t kIn = 48, kOut = 96;

/// A layer b of 48 inputs and 96 outputs between two others.
std::string between(std::int64_t batch) {
  return fmt::format(R"(graph between
input x f32[{0},8]
input target i32[{0}]
input weight f32[{0}]
parameter a.weight f32[48,8] uniform 0.5
parameter b.weight f32[96,48] uniform 0.5
parameter c.weight f32[8,96] uniform 0.5
operator a linear{{out=48}} (x) [a.weight] -> a
operator b linear{{out=96}} (a) [b.weight] -> b
operator c linear{{out=8}} (b) [c.weight] -> logits
operator loss cross_entropy{{}} (logits target weight) [] -> loss_sum weight_sum
output logits logits
loss loss_sum weight_sum
)",
                     batch);
}

/// Bytes that all devices send in a step, with b split along this axis and the rest by samples.
std::int64_t bytes_sent(std::int64_t batch, std::int64_t devices, const std::string& axis) {
  Lowered model;
  model.graph = parse_graph(between(batch));
  model.machine.devices.clear();
  for (std::int32_t rank = 0; rank < devices; ++rank)
    model.machine.devices.push_back({.node = rank, .rank = rank});
  model.strategy = data_parallel(model.graph, model.machine);
  model.strategy.splits["b"] = {.factors = {{axis, devices}}};
  model.strategy.sync.algorithms = "ring:0-max";
  model.optimizer.rules.clear();
  for (const Parameter& parameter : model.graph.parameters)
    model.optimizer.rules.emplace(parameter.name, Sgd{});
  LowerRequest request = model.request();
  request.outputs.clear();
  TaskGraph graph = model.run(request);
  std::int64_t sum = 0;
  for (std::int64_t device = 0; device < devices; ++device)
    sum += sent_bytes(graph, DeviceId(as_index(device))).network.count;
  return sum;
}

LayerTraffic traffic_of_b(std::int64_t batch) {
  Graph graph = parse_graph(between(batch));
  return parameter_traffic(IndexedGraph(graph)).at(1);
}

const ParameterSplit& along(const LayerTraffic& layer, const std::string& axis) {
  for (const ParameterSplit& split : layer.splits)
    if (split.axis == axis) return split;
  throw std::out_of_range(axis);
}

TEST(ParameterTraffic, OfALinearLayerIsThatOfItsSizes) {
  LayerTraffic b = traffic_of_b(16);
  EXPECT_EQ(b.gradient_bytes(4).count, 2 * 3 * kIn * kOut * 4);
  EXPECT_EQ(along(b, "o").bytes(4).count, 2 * 3 * 16 * (kIn * 4 + kOut));
  EXPECT_EQ(along(b, "i").bytes(4).count, 2 * 3 * 16 * (kOut * 4 + kIn));
  EXPECT_TRUE(b.prefers_parameters(4));
  EXPECT_DOUBLE_EQ(*b.flip_batch(4) * 16, kIn * kOut / (kIn + kOut / 4.0));
}

TEST(ParameterTraffic, IsWhatLoweredPlansSend) {
  for (std::int64_t devices : {2, 4}) {
    for (std::int64_t batch : {8, 64}) {
      LayerTraffic b = traffic_of_b(batch);
      std::int64_t by_samples = bytes_sent(batch, devices, "n");
      for (const char* axis : {"o", "i"})
        EXPECT_EQ(by_samples - bytes_sent(batch, devices, axis),
                  b.gradient_bytes(devices).count - along(b, axis).bytes(devices).count)
            << devices << " devices, batch " << batch << ", " << axis;
    }
  }
}

TEST(ParameterTraffic, FlipsWhereLoweredPlansDo) {
  for (std::int64_t devices : {2, 4}) {
    double flip = *traffic_of_b(8).flip_batch(devices) * 8;
    std::int64_t last = 0;  // batch for which a split by parameters sends less
    for (std::int64_t batch = 8; batch <= 160; batch += 4)
      if (bytes_sent(batch, devices, "o") < bytes_sent(batch, devices, "n")) last = batch;
    EXPECT_LT(static_cast<double>(last), flip);
    EXPECT_GE(static_cast<double>(last + 4), flip);
  }
}

TEST(ParameterTraffic, FlipsWithTheNumberOfDevices) {
  // in out = 4608 stands against batch (in + out / P): 64 (48 + 96 / P).
  LayerTraffic b = traffic_of_b(64);
  EXPECT_DOUBLE_EQ(b.flip_devices().value(), 4.0);
  EXPECT_FALSE(b.prefers_parameters(4));
  EXPECT_TRUE(b.prefers_parameters(5));
  EXPECT_FALSE(traffic_of_b(96).flip_devices());
}

TEST(ParameterTraffic, FlipsOnlyOnAsManyDevicesAsTheAxisIsLong) {
  // Along its 8 outputs c sends 95 (96 + 8 / P), along its 96 inputs 95 (8 + 96 / P): of the 768
  // elements of its weights, 8 are left for 9120 / P.
  Graph graph = parse_graph(between(95));
  EXPECT_FALSE(parameter_traffic(IndexedGraph(graph)).at(2).flip_devices());
}

TEST(ParameterTraffic, CountsNothingForInputsOfTheModel) {
  Graph graph = parse_graph(between(16));
  LayerTraffic a = parameter_traffic(IndexedGraph(graph)).front();
  // x is not sent, and nobody needs its gradient; what is left is y.
  EXPECT_EQ(along(a, "o").bytes(2).count, 2 * 16 * kIn * 4 / 2);
}

TEST(ParameterTraffic, LeavesOutFrozenLayers) {
  Graph graph = parse_graph(between(16));
  graph.parameters[1].trained = false;
  std::vector<LayerTraffic> layers = parameter_traffic(IndexedGraph(graph));
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_EQ(layers[1].op, 2u);
}

}  // namespace
}  // namespace troika
