#include "strategy/ready.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/suggest.h"
#include "strategy/ready_recurrent.h"
#include "strategy/ready_split.h"

namespace troika {
namespace {

using Make = Strategy (*)(const ReadyRequest&);

struct Ready {
  std::string_view name;
  Make make;
};

/// For strategies that are the same with any number of micro-batches.
template <Strategy (*make)(const Graph&, const Machine&)>
Strategy make_for(const ReadyRequest& on) {
  return make(on.graph, on.machine);
}

constexpr std::array kReady{Ready{"single", [](const ReadyRequest&) { return Strategy::single(); }},
                            Ready{"data", make_for<data_parallel>},
                            Ready{"tensor", tensor_parallel_on},
                            Ready{"spatial", make_for<spatial_parallel>},
                            Ready{"hybrid", make_for<hybrid_parallel>},
                            Ready{"expert", make_for<expert_parallel>},
                            Ready{"placed", placed_in_order_on},
                            Ready{"branches", make_for<placed_by_branches>},
                            Ready{"wavefront", wavefront_on}};

/// The axis of dimension `dim` of the first output that is an image [n,c,h,w], or -1.
int image_axis(const Signature& s, std::size_t dim) {
  for (int slot : s.slots_of(Role::output)) {
    const Slot& output = s.slots[static_cast<std::size_t>(slot)];
    if (output.spec.shape.rank() == 4) return output.dims[dim].axis;
  }
  return DimMap::kNoAxis;
}

/// {n: shards}, equal runs of neighbouring tiles on each device.
Split runs_of_shards(const Signature& s, std::int64_t shards, std::int64_t devices) {
  std::int64_t samples = s.axes[static_cast<std::size_t>(sample_axis(s))].extent;
  // Cut in two steps, unequal tiles would depend on the number of devices, and so would the bits.
  if (samples % shards == 0 && shards % devices == 0)
    return {.factors = {{"n", devices}, {.axis = "n", .degree = shards / devices, .stride = 0}}};
  Split split{.factors = {{"n", shards}}};
  for (std::int64_t tile = 0; tile < shards; ++tile)
    split.devices.push_back(DeviceId(static_cast<std::size_t>(tile * devices / shards)));
  return split;
}

}  // namespace

Strategy data_parallel(const Graph& graph, const Machine& machine) {
  return for_each_operator(graph, machine, [](const Operator&, const Signature& s) {
    return std::vector{sample_axis(s)};
  });
}

Strategy spatial_parallel(const Graph& graph, const Machine& machine) {
  return for_each_operator(graph, machine, [](const Operator&, const Signature& s) {
    return std::vector{image_axis(s, 2), image_axis(s, 3), sample_axis(s)};
  });
}

Strategy fixed_order(const Graph& graph, const Machine& machine, std::int64_t shards) {
  Strategy strategy;
  strategy.sync.fixed_order = true;
  auto devices = static_cast<std::int64_t>(machine.devices.size());
  for (const Operator& op : graph.operators) {
    Signature s = signature(graph, op);
    if (sample_axis(s) < 0 || shards < 1) continue;
    strategy.splits[op.name] = runs_of_shards(s, shards, devices);
  }
  return strategy;
}

std::span<const std::string_view> ready_names() {
  static const std::array<std::string_view, kReady.size()> kNames = [] {
    std::array<std::string_view, kReady.size()> names;
    std::ranges::transform(kReady, names.begin(), &Ready::name);
    return names;
  }();
  return kNames;
}

Strategy ready_strategy(std::string_view name, const Graph& graph, const Machine& machine) {
  return ready_strategy(name, ReadyRequest{graph, machine});
}

Strategy ready_strategy(std::string_view name, const ReadyRequest& on) {
  auto found = std::ranges::find(kReady, name, &Ready::name);
  if (found != kReady.end()) return found->make(on);
  std::vector<std::string> names(ready_names().begin(), ready_names().end());
  auto near = closest(name, names);
  throw Error(ErrorKind::usage, fmt::format("there is no ready plan '{}'{}; there are {}", name,
                                            near ? fmt::format(", did you mean '{}'?", *near) : "",
                                            fmt::join(names, ", ")));
}

}  // namespace troika
