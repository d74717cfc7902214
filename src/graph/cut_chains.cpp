#include "graph/cut_chains.h"

#include <algorithm>

namespace troika {
namespace {

constexpr std::int32_t kNone = -1;

class ChainFinder {
 public:
  ChainFinder(const Graph& graph, const LayerCuts& cuts)
      : graph_(graph), cuts_(cuts), chain_of_(graph.operators.size(), kNone) {}

  std::vector<LayerChain> run() {
    for (std::int32_t at = 0; at < std::ssize(graph_.operators); ++at)
      if (cuts_.chunks.contains(operator_at(at).name)) add(at);
    for (LayerChain& chain : chains_) std::ranges::sort(chain);
    return std::move(chains_);
  }

 private:
  const Operator& operator_at(std::int32_t at) const { return graph_.operators[as_index(at)]; }
  std::int32_t producer(TensorId tensor) const { return graph_[tensor].producer.value; }

  void add(std::int32_t layer) {
    std::int32_t between = kNone, below = producer(operator_at(layer).inputs[0]);
    if (is_cut_dropout(below)) {
      between = below;
      below = producer(operator_at(between).inputs[0]);
    }
    if (!takes_over(layer, below)) {
      join(layer, std::ssize(chains_));
      return;
    }
    std::int32_t chain = chain_of_[as_index(below)];
    if (between != kNone && chain_of_[as_index(between)] == kNone) join(between, chain);
    join(layer, chain);
  }

  void join(std::int32_t member, std::int64_t chain) {
    if (chain == std::ssize(chains_)) chains_.emplace_back();
    chains_[as_index(chain)].push_back(member);
    chain_of_[as_index(member)] = static_cast<std::int32_t>(chain);
  }

  bool is_cut_dropout(std::int32_t op) const {
    return op != kNone && std::holds_alternative<Dropout>(operator_at(op).op) &&
           !cuts_.whole.contains(operator_at(op).name);
  }

  /// Both layers must go through the same chunks in the same order. All else that the upper one
  /// reads must be there when the chain begins.
  bool takes_over(std::int32_t layer, std::int32_t below) const {
    if (below == kNone || chain_of_[as_index(below)] == kNone) return false;
    const Operator &upper = operator_at(layer), &lower = operator_at(below);
    const auto* lower_op = std::get_if<Recurrent>(&lower.op);
    if (cuts_.alone.contains(upper.name)) return false;
    if (lower_op == nullptr || lower_op->reverse != std::get<Recurrent>(upper.op).reverse ||
        cuts_.chunks.at(upper.name) != cuts_.chunks.at(lower.name))
      return false;
    std::int32_t start = chains_[as_index(chain_of_[as_index(below)])].front();
    return std::all_of(upper.inputs.begin() + 1, upper.inputs.end(),
                       [&](TensorId input) { return producer(input) < start; });
  }

  const Graph& graph_;
  const LayerCuts& cuts_;
  std::vector<LayerChain> chains_;
  std::vector<std::int32_t> chain_of_;  // by operator
};

}  // namespace

std::vector<LayerChain> find_chains(const Graph& graph, const LayerCuts& cuts) {
  return ChainFinder(graph, cuts).run();
}

}  // namespace troika
