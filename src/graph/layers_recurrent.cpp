#include "graph/layers_recurrent.h"

#include "base/error.h"

namespace troika::layers {
namespace {

struct Direction {
  std::string name;
  bool reverse = false;
};

/// Adds one operator and appends its last state to `last`. The size of `last` is the index of its
/// initial state in options.start.
TensorId run(GraphBuilder& b, const Direction& direction, TensorId x,
             const RecurrentOptions& options, std::vector<RecurrentState>& last) {
  bool has_cell = options.kind == RecurrentKind::lstm;
  std::vector<TensorId> inputs{x};
  if (!options.start.empty()) {
    TROIKA_CHECK(last.size() < options.start.size(), direction.name + " has no start");
    inputs.push_back(options.start[last.size()].h);
    if (has_cell) inputs.push_back(options.start[last.size()].c);
  }
  if (options.lengths) inputs.push_back(*options.lengths);
  Recurrent op{.kind = options.kind,
               .hidden = options.hidden,
               .reverse = direction.reverse,
               .has_state = !options.start.empty(),
               .has_lengths = options.lengths.has_value()};
  std::vector<TensorId> outputs =
      b.apply(direction.name, op, inputs, {.init = {options.init, options.init}});
  last.push_back({outputs[1], has_cell ? outputs[2] : TensorId{}});
  return outputs[0];
}

}  // namespace

RecurrentResult recurrent(GraphBuilder& b, const std::string& name, TensorId x,
                          const RecurrentOptions& options) {
  RecurrentResult result{x};
  for (std::int64_t at = 0; at < options.layers; ++at) {
    std::string layer = name + "." + std::to_string(at);
    // Between layers only, as in PyTorch: neither before the first nor after the last.
    if (at > 0) result.y = dropout(b, layer + ".dropout", result.y, options.dropout);
    TensorId forward = run(b, {layer, false}, result.y, options, result.last);
    if (!options.bidirectional) {
      result.y = forward;
      continue;
    }
    // Both directions read the output of the layer below, so result.y is replaced after both.
    TensorId backward = run(b, {layer + ".reverse", true}, result.y, options, result.last);
    result.y = concat(b, layer + ".both", {forward, backward}, -1);
  }
  return result;
}

}  // namespace troika::layers
