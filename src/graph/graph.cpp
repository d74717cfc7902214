#include "graph/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/hash.h"
#include "graph/text.h"

namespace troika {
namespace {

std::vector<TensorSpec> input_specs(const Graph& graph, const Operator& op) {
  std::vector<TensorSpec> specs;
  for (TensorId input : op.inputs) specs.push_back(graph[input].spec);
  return specs;
}

[[noreturn]] void refuse(const Graph& graph, const std::string& message) {
  throw Error(ErrorKind::usage, fmt::format("model '{}': {}", graph.name, message));
}

template <class Things>
void verify_unique(const Graph& graph, const Things& things, std::string_view what) {
  std::set<std::string_view> seen;
  for (const auto& thing : things) {
    if (!seen.insert(thing.name).second)
      refuse(graph, fmt::format("two {} are called '{}'", what, thing.name));
  }
}

/// The connected tensors must have the specs of the signature's slots.
void verify_slots(const Graph& graph, const Operator& op, const Signature& s) {
  std::size_t parameter = 0, output = 0;
  for (const Slot& slot : s.slots) {
    bool is_parameter = slot.role == Role::weight || slot.role == Role::state,
         is_output = slot.role == Role::output;
    if (!is_parameter && !is_output) continue;
    // Parameters and outputs of an operator are listed in slot order, each in its own list.
    std::size_t at = is_parameter ? parameter++ : output++;
    if (at >= (is_parameter ? op.parameters.size() : op.outputs.size()))
      refuse(graph, fmt::format("operator '{}' lacks its tensor '{}'", op.name, slot.name));
    const TensorSpec& wired =
        is_parameter ? graph[op.parameters[at]].spec : graph[op.outputs[at]].spec;
    if (wired != slot.spec)
      refuse(graph, fmt::format("operator '{}' needs {} for '{}', but {} is connected", op.name,
                                to_string(slot.spec), slot.name, to_string(wired)));
  }
  if (parameter != op.parameters.size() || output != op.outputs.size())
    refuse(graph, fmt::format("operator '{}' has too many parameters or outputs", op.name));
}

/// Counts the slots of these roles before this one.
std::size_t slots_before(const Signature& s, int slot, std::initializer_list<Role> roles) {
  auto is_counted = [&](const Slot& before) { return std::ranges::count(roles, before.role) > 0; };
  return static_cast<std::size_t>(
      std::count_if(s.slots.begin(), s.slots.begin() + slot, is_counted));
}

void verify_order(const Graph& graph) {
  for (std::size_t at = 0; at < graph.operators.size(); ++at) {
    const Operator& op = graph.operators[at];
    for (TensorId input : op.inputs) {
      if (!input.valid() || input.index() >= graph.tensors.size())
        refuse(graph, fmt::format("operator '{}' reads a tensor that does not exist", op.name));
      OperatorId producer = graph[input].producer;
      // An input of the graph has no producer and may be read anywhere.
      if (producer.valid() && producer.index() >= at)
        refuse(graph, fmt::format("operator '{}' reads '{}' before it is written", op.name,
                                  graph[input].name));
    }
    for (TensorId output : op.outputs) {
      if (graph[output].producer != OperatorId(at))
        refuse(graph, fmt::format("'{}' is not marked as written by operator '{}'",
                                  graph[output].name, op.name));
    }
  }
}

}  // namespace

Signature signature(const Graph& graph, const Operator& op) {
  try {
    return signature(op.op, input_specs(graph, op));
  } catch (const Error& error) {
    // The operator knows its kind only; the graph knows which one of them it is.
    throw error.within(fmt::format("operator '{}'", op.name));
  }
}

TensorId tensor_at(const Operator& op, const Signature& s, int slot) {
  Role role = s.slots[static_cast<std::size_t>(slot)].role;
  TROIKA_CHECK(role == Role::input || role == Role::output,
               "the slot holds no tensor of the graph");
  return (role == Role::input ? op.inputs : op.outputs)[slots_before(s, slot, {role})];
}

ParameterId parameter_at(const Operator& op, const Signature& s, int slot) {
  return op.parameters[slots_before(s, slot, {Role::weight, Role::state})];
}

TensorId find_tensor(const Graph& graph, std::string_view name) {
  auto found = std::ranges::find(graph.tensors, name, &Tensor::name);
  return found == graph.tensors.end()
             ? TensorId{}
             : TensorId(static_cast<std::size_t>(found - graph.tensors.begin()));
}

const Operator* find_operator(const Graph& graph, std::string_view name) {
  auto found = std::ranges::find(graph.operators, name, &Operator::name);
  return found == graph.operators.end() ? nullptr : &*found;
}

std::int64_t parameter_count(const Graph& graph) {
  std::int64_t count = 0;
  for (const Parameter& parameter : graph.parameters)
    count += parameter.state ? 0 : parameter.spec.shape.elements();
  return count;
}

Flops step_flops(const Graph& graph) {
  Flops total;
  for (const Operator& op : graph.operators) {
    // `staged` is left out: its phases replace these where a tile needs them.
    for (const PhaseSpec& phase : signature(graph, op).phases) total += phase.flops;
  }
  return total;
}

// The text has shapes of inputs and parameters only; those of other tensors follow. So it is enough
// to normalise batch and dtype there and in Embedding.
std::uint64_t model_hash(const Graph& graph) {
  Graph model = graph;
  auto forget_dtype = [](TensorSpec& spec) {
    if (spec.dtype != DType::i32) spec.dtype = DType::f32;
  };
  for (TensorId input : model.inputs) {
    TensorSpec& spec = model.tensors[input.index()].spec;
    forget_dtype(spec);
    // Dimension 0 of every input is the batch.
    if (spec.shape.rank() > 0) spec.shape[0] = 1;
  }
  for (Parameter& parameter : model.parameters) {
    forget_dtype(parameter.spec);
    parameter.trained = true;
    parameter.spec.shape = parameter.spec.shape.merged(parameter.merged);
  }
  for (Operator& op : model.operators)
    // The only operator with a type among its attributes.
    if (auto* embedding = std::get_if<Embedding>(&op.op)) embedding->dtype = DType::f32;
  return hash_text(to_text(model));
}

void verify(const Graph& graph) {
  verify_unique(graph, graph.tensors, "tensors");
  verify_unique(graph, graph.parameters, "parameters");
  verify_unique(graph, graph.operators, "operators");
  // Before the signatures, which read the specs of inputs that must exist.
  verify_order(graph);
  for (const Operator& op : graph.operators) verify_slots(graph, op, signature(graph, op));
}

}  // namespace troika
