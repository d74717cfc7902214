#include "search/parameter_traffic.h"

#include <algorithm>

namespace troika {
namespace {

bool is_layer(const Op& op) {
  return std::holds_alternative<Linear>(op) || std::holds_alternative<Conv2d>(op) ||
         std::holds_alternative<ConvTranspose2d>(op) || std::holds_alternative<Embedding>(op) ||
         std::holds_alternative<Recurrent>(op);
}

bool has_axis(const Slot& slot, std::size_t axis) {
  return std::ranges::any_of(slot.dims,
                             [&](const DimMap& map) { return map.axis == static_cast<int>(axis); });
}

class TrafficFinder {
 public:
  explicit TrafficFinder(const IndexedGraph& index)
      : index_(index), graph_(index.graph), has_gradient_(graph_.tensors.size()) {
    for (const Operator& op : graph_.operators) mark_gradients(op);
  }

  std::vector<LayerTraffic> run() const {
    std::vector<LayerTraffic> all;
    for (std::size_t op = 0; op < graph_.operators.size(); ++op) {
      if (!is_layer(graph_.operators[op].op)) continue;
      LayerTraffic made{.op = op, .weights = trained_bytes(op)};
      if (made.weights == Bytes{}) continue;
      made.splits = splits_of(op);
      if (!made.splits.empty()) all.push_back(std::move(made));
    }
    return all;
  }

 private:
  bool is_trained(ParameterId id) const { return graph_[id].trained && !graph_[id].state; }

  /// A tensor has a gradient if it depends on a trained parameter.
  void mark_gradients(const Operator& op) {
    bool depends =
        std::ranges::any_of(op.parameters, [&](auto id) { return is_trained(id); }) ||
        std::ranges::any_of(op.inputs, [&](TensorId id) { return has_gradient_[id.index()]; });
    for (TensorId output : op.outputs) has_gradient_[output.index()] = depends;
  }

  Bytes trained_bytes(std::size_t op) const {
    Bytes sum{};
    for (ParameterId id : graph_.operators[op].parameters)
      if (is_trained(id)) sum += graph_[id].spec.bytes();
    return sum;
  }

  std::vector<ParameterSplit> splits_of(std::size_t op) const {
    if (std::holds_alternative<Recurrent>(graph_.operators[op].op)) return {by_units(op)};
    const Signature& s = index_.signatures[op];
    std::vector<ParameterSplit> splits;
    for (std::size_t axis = 0; axis < s.axes.size(); ++axis) {
      std::vector<int> weights = s.slots_of(Role::weight);
      bool cuts_all = std::ranges::all_of(
          weights, [&](int slot) { return has_axis(s.slots[as_index(slot)], axis); });
      if (cuts_all) splits.push_back(along_axis(op, axis));
    }
    return splits;
  }

  /// Forward and backward, or less.
  std::int64_t times_sent(std::size_t op, int slot) const {
    const Signature& s = index_.signatures[op];
    TensorId tensor = tensor_at(graph_.operators[op], s, slot);
    bool is_sent = graph_[tensor].producer.valid();  // each device gets its own part of the inputs
    return (is_sent ? 1 : 0) + (has_gradient_[tensor.index()] ? 1 : 0);
  }

  ParameterSplit along_axis(std::size_t op, std::size_t axis) const {
    const Signature& s = index_.signatures[op];
    ParameterSplit made{.axis = s.axes[axis].name, .extent = s.axes[axis].extent};
    for (Role role : {Role::input, Role::output}) {
      for (int slot : s.slots_of(role)) {
        const Slot& own = s.slots[as_index(slot)];
        (has_axis(own, axis) ? made.exchanged : made.gathered) +=
            own.spec.bytes() * times_sent(op, slot);
      }
    }
    return made;
  }

  /// A recurrent layer in single steps, which its signature does not describe: each device computes
  /// some hidden units from all inputs of a step and all hidden units of the step before.
  ParameterSplit by_units(std::size_t op) const {
    const Signature& s = index_.signatures[op];
    int x = s.slots_of(Role::input).front(), y = s.slots_of(Role::output).front();
    const TensorSpec& hidden = s.slots[as_index(y)].spec;
    Bytes output = hidden.bytes();
    ParameterSplit made{.axis = "u", .extent = hidden.shape.back()};
    made.gathered = s.slots[as_index(x)].spec.bytes() * times_sent(op, x) + output * 2;
    made.exchanged = output * 2;
    return made;
  }

  const IndexedGraph& index_;
  const Graph& graph_;
  std::vector<bool> has_gradient_;  // by tensor
};

}  // namespace

Bytes ParameterSplit::bytes(std::int64_t devices) const {
  return {(devices - 1) * gathered.count + (devices - 1) * exchanged.count / devices};
}

Bytes LayerTraffic::gradient_bytes(std::int64_t devices) const {
  return weights * (2 * (devices - 1));
}

const ParameterSplit& LayerTraffic::best(std::int64_t devices) const {
  return *std::ranges::min_element(
      splits, {}, [&](const ParameterSplit& split) { return split.bytes(devices); });
}

bool LayerTraffic::prefers_parameters(std::int64_t devices) const {
  return best(devices).bytes(devices) < gradient_bytes(devices);
}

std::optional<double> LayerTraffic::flip_devices() const {
  // 2 W = G + E / P
  std::optional<double> least;
  for (const ParameterSplit& split : splits) {
    std::int64_t room = 2 * weights.count - split.gathered.count;
    if (room <= 0) continue;
    double devices = static_cast<double>(split.exchanged.count) / static_cast<double>(room);
    if (devices >= static_cast<double>(split.extent)) continue;
    least = std::min(least.value_or(devices), devices);
  }
  return least;
}

std::optional<double> LayerTraffic::flip_batch(std::int64_t devices) const {
  Bytes activations = best(devices).bytes(devices);
  if (activations == Bytes{}) return std::nullopt;
  // Activations grow with the batch, gradients do not.
  return static_cast<double>(gradient_bytes(devices).count) /
         static_cast<double>(activations.count);
}

std::vector<LayerTraffic> parameter_traffic(const IndexedGraph& index) {
  return TrafficFinder(index).run();
}

}  // namespace troika
