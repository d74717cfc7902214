// A model: operators connected by tensors, in topological order, with named parameters. Plain
// values; builder.h builds one, text.h prints and parses one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "ops/op.h"

namespace troika {

using TensorId = Id<struct TensorTag>;
using ParameterId = Id<struct ParameterTag>;
using OperatorId = Id<struct OperatorTag>;

struct Tensor {
  std::string name;
  TensorSpec spec;
  OperatorId producer;  ///< Invalid for inputs of the graph.

  bool operator==(const Tensor&) const = default;
};

struct Parameter {
  std::string name;
  TensorSpec spec;
  Init init;
  bool state = false;   ///< Not updated by the optimizer: running statistics.
  bool trained = true;  ///< False: frozen in this graph.
  /// Number of leading dimensions that files and the hash of the model have as one.
  std::size_t merged = 1;

  bool operator==(const Parameter&) const = default;
};

struct Operator {
  std::string name;
  Op op;
  std::vector<TensorId> inputs;
  std::vector<ParameterId> parameters;  ///< Weights and states, in slot order of the signature.
  std::vector<TensorId> outputs;

  bool operator==(const Operator&) const = default;
};

struct NamedTensor {
  std::string name;
  TensorId tensor;

  bool operator==(const NamedTensor&) const = default;
};

/// The global loss is loss_sum / weight_sum.
struct Loss {
  TensorId loss_sum;
  TensorId weight_sum;

  bool operator==(const Loss&) const = default;
};

struct Graph {
  std::string name;
  std::vector<Tensor> tensors;
  std::vector<Parameter> parameters;
  std::vector<Operator> operators;
  std::vector<TensorId> inputs;
  std::vector<NamedTensor> outputs;  ///< Read by evaluation and prediction.
  std::optional<Loss> loss;

  const Tensor& operator[](TensorId id) const { return tensors[id.index()]; }
  const Parameter& operator[](ParameterId id) const { return parameters[id.index()]; }
  const Operator& operator[](OperatorId id) const { return operators[id.index()]; }
  bool operator==(const Graph&) const = default;
};

Signature signature(const Graph& graph, const Operator& op);
/// The tensor of an input or output slot, and the parameter of a weight or state slot.
TensorId tensor_at(const Operator& op, const Signature& signature, int slot);
ParameterId parameter_at(const Operator& op, const Signature& signature, int slot);
/// Returns the tensor called `name`, or an invalid id.
TensorId find_tensor(const Graph& graph, std::string_view name);
/// Returns the operator called `name`, or null.
const Operator* find_operator(const Graph& graph, std::string_view name);

/// Elements of all parameters except states.
std::int64_t parameter_count(const Graph& graph);
/// Floating-point operations of one training step, forward and backward.
Flops step_flops(const Graph& graph);
/// A hash that is equal for equal models on every machine; plans and checkpoints store it. It does
/// not cover batch size, element type and frozen parameters, which belong to the run.
std::uint64_t model_hash(const Graph& graph);

/// Throws Error(usage) that names the operator unless the graph is well formed: topological order,
/// shapes that match the signatures, unique names, parameters in the right slots.
void verify(const Graph& graph);

}  // namespace troika
