#include "graph/builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace troika {

TensorId GraphBuilder::input(const std::string& name, const TensorSpec& spec) {
  TensorId id(graph_.tensors.size());
  graph_.tensors.push_back({name, spec, {}});
  graph_.inputs.push_back(id);
  return id;
}

std::vector<TensorId> GraphBuilder::apply(const std::string& name, const Op& op,
                                          const std::vector<TensorId>& inputs,
                                          const ApplyOptions& options) {
  Operator node{.name = name, .op = op, .inputs = inputs};
  // Throws for inputs that do not fit, before anything is added to the graph.
  Signature s = signature(graph_, node);
  std::size_t outputs = s.slots_of(Role::output).size();
  for (const Slot& slot : s.slots) {
    if (slot.role == Role::weight || slot.role == Role::state) {
      node.parameters.push_back(parameter_for(node, slot, options));
    } else if (slot.role == Role::output) {
      node.outputs.push_back(TensorId(graph_.tensors.size()));
      graph_.tensors.push_back({outputs == 1 ? name : name + "." + slot.name, slot.spec,
                                OperatorId(graph_.operators.size())});
    }
  }
  graph_.operators.push_back(node);
  return node.outputs;
}

// In order of precedence: a parameter given by the caller, an existing one of the same name if
// reuse is on, a new one. A second parameter of one name is found by verify().
ParameterId GraphBuilder::parameter_for(const Operator& op, const Slot& slot,
                                        const ApplyOptions& options) {
  std::size_t at = op.parameters.size();
  if (at < options.shared.size()) return options.shared[at];
  bool state = slot.role == Role::state;
  // Layers that share weights, as the two sides of a GAN's discriminator, still name their states
  // apart.
  std::string prefix =
      state && !options.state_prefix.empty() ? options.state_prefix : options.prefix;
  std::string name = (prefix.empty() ? op.name : prefix) + "." + slot.name;
  // States are never shared: two operators would write one running statistic in one step.
  if (options.reuse && !state) {
    if (ParameterId same = find_parameter(name); same.valid()) return same;
  }
  bool given = at < options.init.size() && options.init[at].has_value();
  graph_.parameters.push_back({.name = name,
                               .spec = slot.spec,
                               .init = given ? *options.init[at] : slot.init,
                               .state = state,
                               .merged = slot.merged});
  return ParameterId(graph_.parameters.size() - 1);
}

TensorId GraphBuilder::add(const std::string& name, const Op& op,
                           const std::vector<TensorId>& inputs, const ApplyOptions& options) {
  std::vector<TensorId> outputs = apply(name, op, inputs, options);
  TROIKA_CHECK_EQ(outputs.size(), 1u);
  return outputs[0];
}

void GraphBuilder::loss(const std::string& name, const Op& op,
                        const std::vector<TensorId>& inputs) {
  std::vector<TensorId> sums = apply(name, op, inputs);
  TROIKA_CHECK(sums.size() >= 2, name + " is not a loss");
  graph_.loss = Loss{sums[0], sums[1]};
}

void GraphBuilder::freeze(std::string_view prefix) {
  for (Parameter& parameter : graph_.parameters) {
    if (parameter.name.starts_with(prefix)) parameter.trained = false;
  }
}

ParameterId GraphBuilder::parameter(std::string_view name) const {
  ParameterId found = find_parameter(name);
  TROIKA_CHECK(found.valid(), fmt::format("no parameter is called '{}'", name));
  return found;
}

ParameterId GraphBuilder::find_parameter(std::string_view name) const {
  auto found = std::ranges::find(graph_.parameters, name, &Parameter::name);
  if (found == graph_.parameters.end()) return {};
  return ParameterId(static_cast<std::size_t>(found - graph_.parameters.begin()));
}

Graph GraphBuilder::finish() {
  verify(graph_);
  return graph_;
}

}  // namespace troika
