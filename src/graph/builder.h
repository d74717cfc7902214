// Builds a graph operator by operator, in the order of the forward pass. The caller names the
// operators; parameters are called <operator>.<slot>, so that initial weights and checkpoints do
// not depend on the order of construction.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace troika {

struct ApplyOptions {
  std::string prefix{};        ///< Prefix of parameter names; by default the operator's name.
  std::string state_prefix{};  ///< Prefix of the names of states; by default `prefix`.
  bool reuse = false;          ///< Share a weight whose name exists already.
  /// Existing parameters to use for the first parameters of the operator.
  std::vector<ParameterId> shared{};
  /// Replaces the initial values of the signature, in the order of the operator's parameters.
  std::vector<std::optional<Init>> init{};
};

class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name) { graph_.name = std::move(name); }

  TensorId input(const std::string& name, const TensorSpec& spec);

  /// Adds an operator and its parameters; returns its outputs. Throws Error(usage) that names the
  /// operator if the inputs do not fit. A single output has the name of the operator, several are
  /// called <operator>.<slot>.
  std::vector<TensorId> apply(const std::string& name, const Op& op,
                              const std::vector<TensorId>& inputs,
                              const ApplyOptions& options = {});
  /// For operators with one output.
  TensorId add(const std::string& name, const Op& op, const std::vector<TensorId>& inputs,
               const ApplyOptions& options = {});
  /// Adds a loss operator, whose two sums become the loss of the graph.
  void loss(const std::string& name, const Op& op, const std::vector<TensorId>& inputs);

  void output(const std::string& name, TensorId tensor) {
    graph_.outputs.push_back({name, tensor});
  }
  /// Freezes all parameters added so far whose names start with `prefix`.
  void freeze(std::string_view prefix);

  const TensorSpec& spec(TensorId tensor) const { return graph_[tensor].spec; }
  const Shape& shape(TensorId tensor) const { return spec(tensor).shape; }
  ParameterId parameter(std::string_view name) const;

  /// Verifies the graph and returns it.
  Graph finish();

 private:
  /// Returns an invalid id if there is none.
  ParameterId find_parameter(std::string_view name) const;
  /// Returns the next parameter of `op`: a shared one, or a new one for the slot.
  ParameterId parameter_for(const Operator& op, const Slot& slot, const ApplyOptions& options);

  Graph graph_;
};

}  // namespace troika
