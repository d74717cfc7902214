// Whether a whole strategy fits a model and a machine.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/suggest.h"
#include "strategy/cut_strategy.h"
#include "strategy/fixed_order_check.h"
#include "strategy/message_names.h"
#include "strategy/split_check.h"
#include "strategy/strategy_change.h"

namespace troika {
namespace {

using Reason = std::optional<std::string>;

std::string unknown_operator(const Graph& graph, const std::string& name) {
  std::vector<std::string> names;
  for (const Operator& op : graph.operators) names.push_back(op.name);
  auto near = closest(name, names);
  return fmt::format("the model '{}' has no operator '{}'{}", graph.name, name,
                     near ? fmt::format("; did you mean '{}'?", *near) : "");
}

/// Why no gradient of this name can be in a bucket.
Reason why_not_bucketed(const std::string& name, const Graph& graph) {
  auto found = std::ranges::find(graph.parameters, name, &Parameter::name);
  if (found != graph.parameters.end())
    return found->state ? std::optional(fmt::format(
                              "'buckets' names '{}', which is a state without a gradient", name))
                        : std::nullopt;
  std::vector<std::string> names;
  for (const Parameter& parameter : graph.parameters) names.push_back(parameter.name);
  auto near = closest(name, names);
  return fmt::format("'buckets' names '{}', but the model '{}' has no such parameter{}", name,
                     graph.name, near ? fmt::format("; did you mean '{}'?", *near) : "");
}

Reason why_order_wrong(const Strategy& strategy, const Graph& graph) {
  if (strategy.sync.message_order.empty()) return std::nullopt;
  MessageNames names(graph, strategy.micro_batches);
  std::set<std::string> named;
  for (const std::string& name : strategy.sync.message_order) {
    if (auto reason = names.why_none(name)) return reason;
    if (!named.insert(name).second)
      return fmt::format("'message_order' names '{}' twice; each message has one place", name);
  }
  return std::nullopt;
}

Reason why_sync_wrong(const Sync& sync, const Graph& graph) {
  if (sync.bucket.count < 1)
    return fmt::format("gradients cannot travel in buckets of {} bytes; give at least 1",
                       sync.bucket.count);
  std::set<std::string> named;
  for (const std::vector<std::string>& bucket : sync.buckets) {
    for (const std::string& name : bucket) {
      if (auto reason = why_not_bucketed(name, graph)) return reason;
      if (!named.insert(name).second)
        return fmt::format("'buckets' names '{}' twice; each gradient travels once", name);
    }
  }
  return std::nullopt;
}

Reason why_batch_uncut(const Operator& op, const Signature& s, std::int64_t parts) {
  int axis = sample_axis(s);
  if (axis < 0)
    return fmt::format(
        "operator '{}' has no axis 'n' of samples, so the batch cannot be cut into micro-batches",
        op.name);
  const Axis& batch = s.axes[static_cast<std::size_t>(axis)];
  if (batch.extent % parts != 0)
    return fmt::format("operator '{}' sees a batch of {}, which {} micro-batches do not divide",
                       op.name, batch.extent, parts);
  if (batch.extent / parts % batch.whole != 0)
    return fmt::format(
        "a micro-batch of {} samples would cut the shards of {} samples that operator '{}' takes "
        "its statistics over; use more shards or fewer micro-batches",
        batch.extent / parts, batch.whole, op.name);
  return std::nullopt;
}

Reason why_micro_batches_infeasible(std::int64_t parts, const IndexedGraph& index) {
  if (parts < 1) return fmt::format("{} micro-batches are asked for; at least 1 is needed", parts);
  if (parts == 1) return std::nullopt;
  for (std::size_t at = 0; at < index.signatures.size(); ++at)
    if (auto reason = why_batch_uncut(index.graph.operators[at], index.signatures[at], parts))
      return reason;
  return std::nullopt;
}

/// The cut graph, for which splits are checked later, does not have all names of the model.
Reason why_names_unknown(const Strategy& strategy, const Graph& graph, const LayerCuts& cuts) {
  for (const auto& [name, split] : strategy.splits)
    if (find_operator(graph, name) == nullptr && !is_projection_of(cuts, name))
      return unknown_operator(graph, name);
  return std::nullopt;
}

SplitTerms terms_of(const Strategy& strategy, const Machine& machine) {
  return {static_cast<std::int64_t>(machine.devices.size()), strategy.micro_batches};
}

Reason why_splits_infeasible(const Strategy& strategy, const IndexedGraph& index,
                             const SplitTerms& terms) {
  for (const auto& [name, split] : strategy.splits) {
    auto op = index.operators.find(name);
    if (op == index.operators.end()) return unknown_operator(index.graph, name);
    SplitSubject subject{&index.graph.operators[op->second], &index.signatures[op->second]};
    if (auto reason = why_split_infeasible(subject, split, terms)) return reason;
  }
  return std::nullopt;
}

}  // namespace

Reason why_infeasible(const Strategy& strategy, const Graph& graph, const Machine& machine) {
  if (machine.devices.empty()) return "the machine has no devices";
  if (auto reason = why_not_cut(strategy, graph)) return reason;
  if (LayerCuts cuts = layer_cuts(strategy, graph); !cuts.chunks.empty()) {
    if (auto reason = why_names_unknown(strategy, graph, cuts)) return reason;
    CutGraph cut = cut_layers(graph, cuts);
    return why_infeasible(cut_strategy(strategy, graph, cut), cut.graph, machine);
  }
  if (auto reason = why_sync_wrong(strategy.sync, graph)) return reason;
  if (auto reason = why_order_wrong(strategy, graph)) return reason;
  IndexedGraph index(graph);
  if (auto reason = why_micro_batches_infeasible(strategy.micro_batches, index)) return reason;
  if (auto reason = why_splits_infeasible(strategy, index, terms_of(strategy, machine)))
    return reason;
  return strategy.sync.fixed_order ? why_order_not_fixed(strategy, index) : std::nullopt;
}

Reason why_change_infeasible(const ChangedStrategy& changed, const IndexedGraph& index,
                             const Machine& machine) {
  const Strategy& strategy = changed.strategy;
  SplitTerms terms = terms_of(strategy, machine);
  const std::string* first = nullptr;  // of the operators that do not fit, in the order of names
  Reason found;
  for (std::int32_t each : changed.operators) {
    auto at = static_cast<std::size_t>(each);
    const Operator& op = index.graph.operators[at];
    if (first != nullptr && *first <= op.name) continue;
    auto split = strategy.splits.find(op.name);
    if (split == strategy.splits.end()) continue;
    auto reason = why_split_infeasible({&op, &index.signatures[at]}, split->second, terms);
    if (!reason) continue;
    first = &op.name;
    found = std::move(reason);
  }
  if (found) return found;
  return strategy.sync.fixed_order ? why_order_not_fixed(strategy, index) : std::nullopt;
}

}  // namespace troika
