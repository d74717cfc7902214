#include "graph/chains.h"

#include <algorithm>

namespace troika {
namespace {

template <class... Kinds>
bool is_one_of(const Op& op) {
  return (std::holds_alternative<Kinds>(op) || ...);
}

bool begins_chain(const Op& op) {
  return is_one_of<Linear, Conv2d, ConvTranspose2d, Matmul, BatchNorm, LayerNorm>(op);
}

bool is_addition(const Op& op) {
  const auto* binary = std::get_if<Binary>(&op);
  return binary && binary->kind == BinaryKind::add;
}

/// A chain goes on with at most one of each, in the order bias, addition, activation.
int rank_in_chain(const Op& op) {
  if (is_one_of<Bias>(op)) return 1;
  if (is_addition(op)) return 2;
  if (is_one_of<Activation>(op)) return 3;
  return 0;
}

class ChainFinder {
 public:
  explicit ChainFinder(const Graph& graph)
      : graph_(graph), readers_(graph.tensors.size()), taken_(graph.operators.size()) {
    for (std::size_t at = 0; at < graph.operators.size(); ++at) {
      for (TensorId input : graph.operators[at].inputs)
        readers_[input.index()].push_back(OperatorId(at));
    }
    for (const NamedTensor& output : graph.outputs) readers_[output.tensor.index()].clear();
  }

  std::vector<Chain> find() {
    std::vector<Chain> chains;
    // From the last to the first, so that the later of two operands is the first to claim an
    // addition.
    for (std::size_t at = graph_.operators.size(); at-- > 0;) {
      if (!begins_chain(graph_.operators[at].op)) continue;
      Chain chain = grow(OperatorId(at));
      if (chain.operators.size() > 1) chains.push_back(chain);
    }
    std::ranges::reverse(chains);
    return chains;
  }

 private:
  Chain grow(OperatorId first) {
    Chain chain{{first}};
    int rank = 0;
    while (true) {
      OperatorId next = only_reader(chain.operators.back());
      if (!next.valid() || taken_[next.index()]) return chain;
      int next_rank = rank_in_chain(graph_[next].op);
      if (next_rank <= rank) return chain;
      rank = next_rank;
      taken_[next.index()] = true;
      chain.operators.push_back(next);
    }
  }

  /// The one operator that reads the output of `id`, if it keeps its shape; invalid if there is
  /// none.
  OperatorId only_reader(OperatorId id) const {
    if (graph_[id].outputs.size() != 1) return {};
    TensorId written = graph_[id].outputs[0];
    const std::vector<OperatorId>& readers = readers_[written.index()];
    if (readers.size() != 1) return {};
    const std::vector<TensorId>& outputs = graph_[readers[0]].outputs;
    bool keeps_shape = outputs.size() == 1 && graph_[outputs[0]].spec == graph_[written].spec;
    return keeps_shape ? readers[0] : OperatorId{};
  }

  const Graph& graph_;
  std::vector<std::vector<OperatorId>>
      readers_;  ///< By tensor; none for outputs of the graph, which must be written.
  std::vector<bool> taken_;
};

}  // namespace

std::vector<Chain> fusable_chains(const Graph& graph) { return ChainFinder(graph).find(); }

}  // namespace troika
