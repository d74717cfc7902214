// Whether a whole strategy fits a model and a machine.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/suggest.h"
#include "strategy/fixed_order_check.h"
#include "strategy/split_check.h"
#include "strategy/strategy.h"

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

Reason why_micro_batches_infeasible(std::int64_t parts, const Graph& graph) {
  if (parts < 1) return fmt::format("{} micro-batches are asked for; at least 1 is needed", parts);
  if (parts == 1) return std::nullopt;
  for (const Operator& op : graph.operators)
    if (auto reason = why_batch_uncut(op, signature(graph, op), parts)) return reason;
  return std::nullopt;
}

Reason why_splits_infeasible(const Strategy& strategy, const Graph& graph,
                             const SplitTerms& terms) {
  for (const auto& [name, split] : strategy.splits) {
    auto op = std::ranges::find(graph.operators, name, &Operator::name);
    if (op == graph.operators.end()) return unknown_operator(graph, name);
    Signature s = signature(graph, *op);
    if (auto reason = why_split_infeasible({&*op, &s}, split, terms)) return reason;
  }
  return std::nullopt;
}

}  // namespace

Reason why_infeasible(const Strategy& strategy, const Graph& graph, const Machine& machine) {
  if (machine.devices.empty()) return "the machine has no devices";
  if (auto reason = why_sync_wrong(strategy.sync, graph)) return reason;
  if (auto reason = why_micro_batches_infeasible(strategy.micro_batches, graph)) return reason;
  SplitTerms terms{static_cast<std::int64_t>(machine.devices.size()), strategy.micro_batches};
  if (auto reason = why_splits_infeasible(strategy, graph, terms)) return reason;
  return strategy.sync.fixed_order ? why_order_not_fixed(strategy, graph) : std::nullopt;
}

}  // namespace troika
