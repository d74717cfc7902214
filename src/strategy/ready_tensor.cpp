// Strategies that split parameters: an operator is cut like its input where that is cut already,
// and starts a new cut along its own parameters where it is not.
#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "strategy/ready.h"
#include "strategy/ready_recurrent.h"
#include "strategy/ready_split.h"

namespace troika {
namespace {

/// Which operators may start a cut along their parameters.
enum class Starters { all, linear };

/// `data` groups of `model` devices, and who starts.
struct ModelGrid {
  DeviceGrid grid;
  std::int64_t data = 1;
  std::int64_t model = 1;
  Starters starters = Starters::all;
  /// Whether a recurrent layer starts a cut along its hidden units; empty: none does.
  std::function<bool(const Operator&)> starts_units{};
};

/// By tensor: the dimension that is cut between the devices of a group.
using CutDims = std::map<TensorId, std::size_t>;

/// The axis along which an operator goes on with the cut of its inputs, or -1: every input that has
/// the dimension must be cut, and alike.
int followed_axis(const Operator& op, const Signature& s, const CutDims& cut) {
  int followed = DimMap::kNoAxis;
  for (int slot : s.slots_of(Role::input)) {
    auto found = cut.find(tensor_at(op, s, slot));
    if (found == cut.end()) continue;
    int axis = s.slots[static_cast<std::size_t>(slot)].dims[found->second].axis;
    if (axis < 0 || (followed >= 0 && axis != followed)) return DimMap::kNoAxis;
    followed = axis;
  }
  if (followed < 0) return followed;
  for (int slot : s.slots_of(Role::input)) {
    const Slot& input = s.slots[static_cast<std::size_t>(slot)];
    bool has_axis = std::ranges::find(input.dims, followed, &DimMap::axis) != input.dims.end();
    if (has_axis && !cut.contains(tensor_at(op, s, slot))) return DimMap::kNoAxis;
  }
  return followed;
}

/// Whether a linear layer that could go on with the cut of its input had better start one of its
/// own: going on, the group adds up its output, and starting anew, the group gathers its input.
bool is_better_anew(const Operator& op, const Signature& s, int followed) {
  if (!std::holds_alternative<Linear>(op.op) || followed != s.axis("i")) return false;
  return s.axes[as_index(s.axis("o"))].extent > s.axes[as_index(followed)].extent;
}

/// The axis of its own parameters that an operator can start a cut along, or -1.
int started_axis(const Operator& op, const Signature& s, Starters starters) {
  if (std::holds_alternative<Linear>(op.op)) return s.axis("o");
  if (starters == Starters::linear) return -1;
  if (std::holds_alternative<Conv2d>(op.op)) return std::max(s.axis("o"), s.axis("g"));
  if (std::holds_alternative<ConvTranspose2d>(op.op)) return s.axis("o");
  if (std::holds_alternative<Attention>(op.op)) return s.axis("head");
  if (std::holds_alternative<Embedding>(op.op)) return s.axis("v");
  return -1;
}

/// The axis behind the samples: of a sequence, or the rows of an image.
int sequence_axis(const Signature& s) {
  for (const char* name : {"t", "q", "h", "u"}) {
    int axis = s.axis(name);
    if (axis >= 0 && s.axes[static_cast<std::size_t>(axis)].kind != AxisKind::reduction)
      return axis;
  }
  return -1;
}

/// Marks the outputs that run along the axis as cut.
void pass_on(const Operator& op, const Signature& s, int axis, CutDims& cut) {
  for (int slot : s.slots_of(Role::output)) {
    const auto& dims = s.slots[static_cast<std::size_t>(slot)].dims;
    auto found = std::ranges::find(dims, axis, &DimMap::axis);
    if (found != dims.end())
      cut[tensor_at(op, s, slot)] = static_cast<std::size_t>(found - dims.begin());
  }
}

/// The hidden units are the last dimension of all outputs of a recurrent layer.
void pass_on_units(const Graph& graph, const Operator& layer, CutDims& cut) {
  for (TensorId output : layer.outputs) cut[output] = graph[output].spec.shape.rank() - 1;
}

std::vector<DeviceId> sorted_by_node(const Machine& machine) {
  std::vector<DeviceId> order;
  for (std::size_t device = 0; device < machine.devices.size(); ++device)
    order.push_back(DeviceId(device));
  std::ranges::stable_sort(order, {}, [&](DeviceId id) { return machine[id].node; });
  return order;
}

Strategy split_models(const Graph& graph, const ModelGrid& on) {
  Strategy strategy;
  CutDims cut;
  for (const Operator& op : graph.operators) {
    if (std::holds_alternative<Recurrent>(op.op) && on.starts_units && on.starts_units(op)) {
      strategy.splits[op.name] = along_units(graph, op, on.model);
      pass_on_units(graph, op, cut);
      continue;
    }
    Signature s = signature(graph, op);
    int axis = followed_axis(op, s, cut);
    if (axis < 0 || is_better_anew(op, s, axis)) axis = started_axis(op, s, on.starters);
    auto groups = spend(s, {}, on.data, {sample_axis(s)});
    auto factors = spend(s, groups, on.model, {axis, sample_axis(s)});
    bool is_cut =
        axis >= 0 && degree_along(factors, s.axes[static_cast<std::size_t>(axis)].name) > 1;
    if (is_cut)
      pass_on(op, s, axis, cut);
    else if (on.starters == Starters::all)
      factors = spend(s, groups, on.model, {sample_axis(s), sequence_axis(s)});
    strategy.splits[op.name] = feasible_split(on.grid, {&op, &s}, factors);
  }
  return strategy;
}

}  // namespace

Strategy tensor_parallel(const Graph& graph, const Machine& machine) {
  return tensor_parallel_on({graph, machine});
}

Strategy tensor_parallel_on(const ReadyRequest& on) {
  auto devices = std::ssize(on.machine.devices);
  auto starts_units = [&](const Operator& layer) { return is_faster_along_units(on, layer); };
  return split_models(
      on.graph,
      {.grid = first_devices(on.graph, devices), .model = devices, .starts_units = starts_units});
}

Strategy mixed_parallel(const Graph& graph, const MixtureDegrees& degrees) {
  return split_models(graph, {.grid = first_devices(graph, degrees.data * degrees.tensor),
                              .data = degrees.data,
                              .model = degrees.tensor});
}

Strategy hybrid_parallel(const Graph& graph, const Machine& machine) {
  auto devices = static_cast<std::int64_t>(machine.devices.size());
  return split_models(
      graph,
      {.grid = first_devices(graph, devices), .model = devices, .starters = Starters::linear});
}

Strategy expert_parallel(const Graph& graph, const Machine& machine) {
  auto devices = static_cast<std::int64_t>(machine.devices.size());
  std::map<std::int32_t, std::int64_t> sizes;
  for (const DeviceSpec& device : machine.devices) ++sizes[device.node];
  std::int64_t group = 0;
  for (const auto& [node, size] : sizes) group = std::gcd(group, size);
  ModelGrid on{.grid = first_devices(graph, devices), .data = devices / group, .model = group};
  if (!std::ranges::is_sorted(machine.devices, {}, &DeviceSpec::node))
    on.grid.order = sorted_by_node(machine);
  return split_models(graph, on);
}

}  // namespace troika
