// For tests: small models that are searched by the rates of their devices.
#pragma once

#include "lower/testing/lowered.h"
#include "machine/cluster.h"
#include "search/find_plans.h"
#include "strategy/ready.h"

namespace troika {

/// Devices of 1 GFLOP/s that are joined by links of 1 GB/s, in nodes joined by 0.1 GB/s.
inline Machine slow_machine(std::int64_t nodes, std::int64_t each) {
  Machine machine =
      make_machine({.nodes = {{.count = nodes, .devices = each, .ranks = each}},
                    .node_link = {.bytes_per_second = 1e9, .latency = {500}},
                    .network = {.link = {.bytes_per_second = 1e8, .latency = {2000}}}});
  for (DeviceSpec& device : machine.devices) {
    device.kind = "slow";
    device.flops_per_second = 1e9;
    device.bytes_per_second = 1e9;
  }
  return machine;
}

/// A model whose kernels take what the roofline of its devices says, none of them fused.
struct SmallSearch : Lowered {
  explicit SmallSearch(const char* text, std::int64_t nodes = 1, std::int64_t each = 2) {
    graph = parse_graph(text);
    machine = slow_machine(nodes, each);
    optimizer.rules.clear();
    for (const Parameter& parameter : graph.parameters)
      if (parameter.trained && !parameter.state) optimizer.rules.emplace(parameter.name, Sgd{});
    asked = request();
    asked.outputs.clear();
    first = {{"data", data_parallel(graph, machine)}, {"single", Strategy::single()}};
  }

  PlanSearchOptions options(std::int64_t proposals, int threads = 1) const {
    return {.first = first, .proposals = proposals, .threads = threads};
  }
  FoundPlans find(const PlanSearchOptions& with) {
    return std::get<FoundPlans>(find_plans(asked, kernels_of(), with));
  }
  ScoringKernels kernels_of() const { return {{}, machine}; }

  LowerRequest asked;
  std::vector<NamedStrategy> first;
};

/// A small hidden layer behind a wide one: the wide one has many weights for few samples, the other
/// one many samples for few weights.
inline constexpr const char* kMixedModel = R"(graph mixed
input x f32[16,64]
input target i32[16]
input weight f32[16]
parameter a.weight f32[512,64] uniform 0.5
parameter b.weight f32[16,512] uniform 0.5
parameter c.weight f32[4,16] uniform 0.5
operator a linear{out=512} (x) [a.weight] -> a
operator relu activation{} (a) [] -> r
operator b linear{out=16} (r) [b.weight] -> b
operator tanh activation{} (b) [] -> t
operator c linear{out=4} (t) [c.weight] -> logits
operator loss cross_entropy{} (logits target weight) [] -> loss_sum weight_sum
output logits logits
loss loss_sum weight_sum
)";

}  // namespace troika
