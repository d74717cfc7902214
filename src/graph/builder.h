// Makes graphs, operator by operator, in the order of the forward pass. Names are given by the
// caller and stay stable: parameters are called <operator>.<slot>, so that initial weights and
// checkpoints do not depend on order.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace troika {

struct ApplyOptions {
  std::string prefix{};        ///< Of parameter names; the operator's name if empty.
  std::string state_prefix{};  ///< Of the names of states; `prefix` if empty.
  bool reuse = false;          ///< A weight whose name exists already is shared, not made again.
  std::vector<ParameterId>
      shared{};  ///< Parameters that exist already, in place of the first ones of the operator.
  std::vector<std::optional<Init>>
      init{};  ///< Instead of the signature's, by slot order of the parameters.
};

class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name) { graph_.name = std::move(name); }

  TensorId input(const std::string& name, const TensorSpec& spec);

  /// Adds an operator and the parameters it needs; returns its outputs. Throws Error(usage) naming
  /// the operator when the inputs do not fit. Outputs are called like the operator, or
  /// <operator>.<slot> when there are several.
  std::vector<TensorId> apply(const std::string& name, const Op& op,
                              const std::vector<TensorId>& inputs,
                              const ApplyOptions& options = {});
  /// For operators with one output.
  TensorId add(const std::string& name, const Op& op, const std::vector<TensorId>& inputs,
               const ApplyOptions& options = {});
  /// A loss operator: its two sums become the graph's loss.
  void loss(const std::string& name, const Op& op, const std::vector<TensorId>& inputs);

  void output(const std::string& name, TensorId tensor) {
    graph_.outputs.push_back({name, tensor});
  }
  /// Frozen from here on: every parameter so far whose name starts with `prefix`.
  void freeze(std::string_view prefix);

  const TensorSpec& spec(TensorId tensor) const { return graph_[tensor].spec; }
  const Shape& shape(TensorId tensor) const { return spec(tensor).shape; }
  ParameterId parameter(std::string_view name) const;

  /// The verified graph.
  Graph finish();

 private:
  /// The parameter called `name`, or an invalid id.
  ParameterId find_parameter(std::string_view name) const;
  /// The next parameter of `op`: shared, or made as the slot says.
  ParameterId parameter_for(const Operator& op, const Slot& slot, const ApplyOptions& options);

  Graph graph_;
};

}  // namespace troika
