#include "graph/cut_layers.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "graph/cut_chains.h"

namespace troika {
namespace {

using Part = OperatorOrigin::Part;

/// A chunk of a chain.
struct Chunk {
  std::int32_t at = 0;  ///< Counted along time.
  Range steps;
};

/// Copies the graph operator by operator. Tensors get new numbers, because there are new ones for
/// chunks, and because tensors that are read chunk by chunk only are left out.
class LayerCutter {
 public:
  LayerCutter(const Graph& graph, const LayerCuts& cuts)
      : old_(graph), cuts_(cuts), whole_(graph.tensors.size()), pieces_(graph.tensors.size()) {
    made().name = graph.name;
    made().parameters = graph.parameters;
    for (TensorId input : graph.inputs) {
      whole_[input.index()] = add_tensor(old_[input].name, old_[input].spec);
      made().inputs.push_back(whole(input));
    }
  }

  CutGraph run() {
    std::map<std::int32_t, LayerChain> chains;  // by first member
    std::set<std::int32_t> members;
    for (LayerChain& chain : find_chains(old_, cuts_)) {
      members.insert(chain.begin(), chain.end());
      chains.emplace(chain.front(), std::move(chain));
    }
    for (std::int32_t at = 0; at < std::ssize(old_.operators); ++at) {
      if (auto chain = chains.find(at); chain != chains.end())
        add_chain(chain->second);
      else if (!members.contains(at))
        copy(at);
    }
    for (const NamedTensor& output : old_.outputs)
      made().outputs.push_back({output.name, whole(output.tensor)});
    if (old_.loss) made().loss = Loss{whole(old_.loss->loss_sum), whole(old_.loss->weight_sum)};
    verify(made());
    return std::move(cut_);
  }

 private:
  Graph& made() { return cut_.graph; }
  const Operator& old(std::int32_t at) const { return old_.operators[as_index(at)]; }
  TensorId whole(TensorId old) const { return whole_[old.index()]; }
  std::vector<TensorId>& pieces(TensorId old) { return pieces_[old.index()]; }

  TensorId add_tensor(const std::string& name, const TensorSpec& spec) {
    made().tensors.push_back({name, spec, {}});
    return TensorId(made().tensors.size() - 1);
  }

  /// Adds an operator that has its inputs and parameters; adds its outputs.
  std::vector<TensorId> add(Operator op, const OperatorOrigin& origin) {
    Signature s = signature(made(), op);
    std::vector<int> slots = s.slots_of(Role::output);
    for (int slot : slots) {
      const Slot& output = s.slots[as_index(slot)];
      std::string name = slots.size() == 1 ? op.name : op.name + "." + output.name;
      op.outputs.push_back(add_tensor(name, output.spec));
      made().tensors.back().producer = OperatorId(made().operators.size());
    }
    made().operators.push_back(std::move(op));
    cut_.origins.push_back(origin);
    return made().operators.back().outputs;
  }

  /// Adds an operator whose outputs are those of an operator of the old graph.
  void add_as(Operator op, const OperatorOrigin& origin, std::span<const TensorId> outputs) {
    std::vector<TensorId> added = add(std::move(op), origin);
    for (std::size_t at = 0; at < outputs.size(); ++at) {
      made().tensors[added[at].index()].name = old_[outputs[at]].name;
      whole_[outputs[at].index()] = added[at];
    }
  }

  void copy(std::int32_t at) {
    Operator made{.name = old(at).name, .op = old(at).op, .parameters = old(at).parameters};
    for (TensorId input : old(at).inputs) made.inputs.push_back(whole(input));
    add_as(std::move(made), {.of = at}, old(at).outputs);
  }

  bool is_layer(std::int32_t at) const { return std::holds_alternative<Recurrent>(old(at).op); }

  void add_chain(const LayerChain& chain) {
    const Operator& first = old(chain.front());
    std::int64_t chunks = cuts_.chunks.at(first.name), steps = steps_of(old_, first);
    start_chain(chain.front(), chunks);
    bool reverse = std::get<Recurrent>(first.op).reverse;
    for (std::int64_t turn = 0; turn < chunks; ++turn) {
      std::int64_t at = reverse ? chunks - 1 - turn : turn;
      Chunk chunk{static_cast<std::int32_t>(at), part_of(steps, at, chunks)};
      for (std::int32_t member : chain) {
        if (is_layer(member))
          add_chunk(member, chunk);
        else
          add_dropout(member, chunk);
      }
    }
    for (std::int32_t member : chain) {
      if (is_layer(member)) finish_layer(member);
      if (is_read_whole(old(member).outputs[0], chain)) add_join(member);
    }
  }

  /// Cuts the input projection of the first layer, or its input if each chunk projects its own.
  void start_chain(std::int32_t at, std::int64_t chunks) {
    const Operator& layer = old(at);
    TensorId cut = whole(layer.inputs[0]);
    if (!cuts_.apart.contains(layer.name)) cut = add_projection(at, cut, -1);
    SplitTensor op{.dim = 1};
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk)
      op.sizes.push_back(part_of(steps_of(old_, layer), chunk, chunks).extent());
    first_ = at;
    first_pieces_ =
        add({.name = layer.name + "/split", .op = op, .inputs = {cut}}, {at, Part::split});
  }

  /// The input projection of a chunk, or of all steps if `chunk` is negative.
  TensorId add_projection(std::int32_t at, TensorId x, std::int32_t chunk) {
    const Operator& layer = old(at);
    const auto& op = std::get<Recurrent>(layer.op);
    std::string name = projection_name(layer.name);
    if (chunk >= 0) name += fmt::format("/{}", chunk);
    return add({.name = name,
                .op = GateProjection{.kind = op.kind, .hidden = op.hidden},
                .inputs = {x},
                .parameters = {layer.parameters[0]}},
               {at, Part::projection, chunk})[0];
  }

  /// The input projection of a chunk, added or cut from that of all steps.
  TensorId projected(std::int32_t at, std::int32_t chunk) {
    const Operator& layer = old(at);
    if (at != first_) return add_projection(at, pieces(layer.inputs[0])[as_index(chunk)], chunk);
    TensorId own = first_pieces_[as_index(chunk)];
    return cuts_.apart.contains(layer.name) ? add_projection(at, own, chunk) : own;
  }

  void add_chunk(std::int32_t at, const Chunk& chunk) {
    const Operator& layer = old(at);
    auto op = std::get<Recurrent>(layer.op);
    std::vector<TensorId>& state = state_[at];
    Operator made{.name = fmt::format("{}/{}", layer.name, chunk.at),
                  .inputs = {projected(at, chunk.at)},
                  .parameters = {layer.parameters.begin() + 1, layer.parameters.end()}};
    std::size_t lengths_at = layer.inputs.size() - (op.has_lengths ? 1 : 0);
    if (state.empty() && op.has_state)
      for (std::size_t input = 1; input < lengths_at; ++input)
        state.push_back(whole(layer.inputs[input]));
    made.inputs.insert(made.inputs.end(), state.begin(), state.end());
    if (op.has_lengths) made.inputs.push_back(whole(layer.inputs[lengths_at]));
    op.projected = true;
    if (op.has_lengths) op.begin = chunk.steps.begin, op.sequence = steps_of(old_, layer);
    op.has_state = !state.empty();
    made.op = op;
    std::vector<TensorId> outputs = add(std::move(made), {at, Part::chunk, chunk.at});
    keep_piece(layer.outputs[0], chunk.at, outputs[0]);
    state.assign(outputs.begin() + 1, outputs.end());
  }

  void add_dropout(std::int32_t at, const Chunk& chunk) {
    const Operator& whole_op = old(at);
    auto op = std::get<Dropout>(whole_op.op);
    const Shape& shape = old_[whole_op.inputs[0]].spec.shape;
    if (op.extents.empty()) op.extents.assign(shape.begin(), shape.end());
    op.begin.assign(shape.rank(), 0);
    op.begin[1] = chunk.steps.begin;
    TensorId x = pieces(whole_op.inputs[0])[as_index(chunk.at)];
    std::vector<TensorId> y =
        add({.name = fmt::format("{}/{}", whole_op.name, chunk.at), .op = op, .inputs = {x}},
            {at, Part::chunk, chunk.at});
    keep_piece(whole_op.outputs[0], chunk.at, y[0]);
  }

  void keep_piece(TensorId of, std::int32_t chunk, TensorId piece) {
    if (std::ssize(pieces(of)) <= chunk) pieces(of).resize(as_index(chunk) + 1);
    pieces(of)[as_index(chunk)] = piece;
  }

  /// The last state of the last chunk is that of the layer.
  void finish_layer(std::int32_t at) {
    const std::vector<TensorId>& outputs = old(at).outputs;
    for (std::size_t output = 1; output < outputs.size(); ++output) {
      TensorId last = state_[at][output - 1];
      made().tensors[last.index()].name = old_[outputs[output]].name;
      whole_[outputs[output].index()] = last;
    }
  }

  bool is_read_whole(TensorId tensor, const LayerChain& chain) const {
    auto is_it = [&](const NamedTensor& output) { return output.tensor == tensor; };
    if (std::ranges::any_of(old_.outputs, is_it)) return true;
    for (std::int32_t at = 0; at < std::ssize(old_.operators); ++at)
      if (std::ranges::count(old(at).inputs, tensor) > 0 && !std::ranges::binary_search(chain, at))
        return true;
    return false;
  }

  void add_join(std::int32_t at) {
    TensorId y = old(at).outputs[0];
    add_as({.name = old(at).name + "/output", .op = Concat{.dim = 1}, .inputs = pieces(y)},
           {at, Part::join}, {&y, 1});
  }

  const Graph& old_;
  const LayerCuts& cuts_;
  CutGraph cut_;
  std::vector<TensorId> whole_;                          // by old tensor
  std::vector<std::vector<TensorId>> pieces_;            // by old tensor, by chunk
  std::int32_t first_ = -1;                              // layer of the present chain
  std::vector<TensorId> first_pieces_;                   // what it reads, by chunk
  std::map<std::int32_t, std::vector<TensorId>> state_;  // by layer: after its last chunk so far
};

}  // namespace

std::int64_t steps_of(const Graph& graph, const Operator& layer) {
  return graph[layer.inputs[0]].spec.shape[1];
}

std::string projection_name(const std::string& layer) { return layer + "/input"; }

std::optional<std::string> why_not_cut(const Graph& graph, const LayerCuts& cuts) {
  for (const auto& [name, chunks] : cuts.chunks) {
    auto clash = std::ranges::find_if(
        graph.operators, [&](const Operator& op) { return op.name.starts_with(name + "/"); });
    if (clash != graph.operators.end())
      return fmt::format(
          "operator '{}' cannot be cut into chunks, whose names begin with '{}/', as that of the "
          "operator '{}' does; rename one of them",
          name, name, clash->name);
    const Operator* op = find_operator(graph, name);
    if (op == nullptr) continue;  // the split of an unknown operator is refused anyway
    if (!std::holds_alternative<Recurrent>(op->op))
      return fmt::format(
          "operator '{}' ({}) cannot be cut into chunks; only recurrent layers can, over time",
          name, name_of(op->op));
    std::int64_t steps = steps_of(graph, *op);
    if (chunks < 1 || chunks > steps)
      return fmt::format(
          "operator '{}' has {} time steps, so it cannot be cut into {} chunks; use 1 to {}", name,
          steps, chunks, steps);
  }
  return std::nullopt;
}

CutGraph cut_layers(const Graph& graph, const LayerCuts& cuts) {
  return LayerCutter(graph, cuts).run();
}

}  // namespace troika
