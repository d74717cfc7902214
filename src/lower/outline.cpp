#include "lower/outline.h"

#include <algorithm>
#include <map>

#include "base/error.h"

namespace troika {
namespace {

bool is_forward(Phase phase) { return !is_backward(phase) && phase != Phase::update; }

/// Marks the operators that the loss or a held output needs.
std::vector<bool> find_wanted(const OutlineRequest& request) {
  const Graph& graph = request.index.graph;
  std::vector<bool> tensors(graph.tensors.size()), operators(graph.operators.size());
  if (request.optimizer != nullptr) {
    TROIKA_CHECK(graph.loss.has_value(), "a graph without a loss cannot train");
    tensors[graph.loss->loss_sum.index()] = true;
  }
  for (const NamedTensor& output : graph.outputs)
    if (std::ranges::count(request.outputs, output.name) > 0) tensors[output.tensor.index()] = true;
  for (std::size_t at = graph.operators.size(); at-- > 0;) {
    const Operator& op = graph.operators[at];
    operators[at] =
        std::ranges::any_of(op.outputs, [&](TensorId output) { return tensors[output.index()]; });
    for (TensorId input : op.inputs)
      tensors[input.index()] = tensors[input.index()] || operators[at];
  }
  return operators;
}

/// Lists the uses by jobs that run.
void choose_uses(const Outline& outline, OutlinedValue& value) {
  value.writers.clear();
  value.readers.clear();
  for (const ValueUse& use : value.uses) {
    const Job& job = outline.jobs[as_index(use.job)];
    if (!outline.runs(job)) continue;
    Access access = job.phase->uses[as_index(use.use)].access;
    (access == Access::write ? value.writers : value.readers).push_back(use);
  }
}

class Outliner {
 public:
  explicit Outliner(const OutlineRequest& request)
      : request_(request), graph_(request.index.graph), wanted_(find_wanted(request)) {
    made_.tensors.assign(graph_.tensors.size(), -1);
    made_.gradients = made_.tensors;
    made_.parameters.assign(graph_.parameters.size(), -1);
    made_.parameter_gradients = made_.parameters;
    made_.norms = made_.parameters;
    made_.updated.resize(graph_.parameters.size());
    made_.jobs_of.resize(graph_.operators.size());
    made_.staged.resize(graph_.operators.size());
    find_needed();
  }

  Outline run() {
    for (std::size_t at = 0; at < graph_.operators.size(); ++at)
      if (wanted_[at]) add_forward(at);
    // The gradients that reach an operator are known once all its readers' phases are listed.
    for (std::size_t at = graph_.operators.size(); request_.optimizer != nullptr && at-- > 0;)
      if (wanted_[at]) add_backward(at);
    for (std::size_t at = 0; request_.optimizer != nullptr && at < graph_.parameters.size(); ++at)
      add_update(at);
    for (OutlinedValue& value : made_.values) choose_uses(made_, value);
    return std::move(made_);
  }

 private:
  const Signature& signature(std::size_t op) const { return request_.index.signatures[op]; }

  const std::vector<PhaseSpec>& phases(std::size_t op, bool staged) const {
    return staged ? signature(op).staged : signature(op).phases;
  }

  /// A tensor needs a gradient if a trained weight lies upstream of it.
  void find_needed() {
    needed_.resize(graph_.tensors.size());
    for (const Operator& op : graph_.operators) {
      bool trained = std::ranges::any_of(op.parameters, [&](ParameterId id) { return moves(id); });
      bool upstream =
          std::ranges::any_of(op.inputs, [&](TensorId id) { return needed_[id.index()]; });
      for (TensorId output : op.outputs) needed_[output.index()] = trained || upstream;
    }
  }

  bool moves(ParameterId id) const { return graph_[id].trained && !graph_[id].state; }

  void add_forward(std::size_t op) {
    add_parameters(op);
    for (bool staged : {false, true})
      for (const PhaseSpec& phase : phases(op, staged))
        if (is_forward(phase.phase)) add_job(op, phase, {.backward = false, .staged = staged});
  }

  void add_parameters(std::size_t op) {
    const Signature& s = signature(op);
    for (Role role : {Role::weight, Role::state}) {
      for (int slot : s.slots_of(role)) {
        std::size_t at = parameter_at(graph_.operators[op], s, slot).index();
        std::int32_t value = find(made_.parameters[at], ValueKind::parameter, at);
        made_.values[as_index(value)].slots.push_back({static_cast<std::int32_t>(op), slot});
      }
    }
  }

  void add_backward(std::size_t op) {
    const Operator& own = graph_.operators[op];
    bool reached = std::ranges::any_of(own.outputs, [&](TensorId output) {
      return output == graph_.loss->loss_sum || made_.gradients[output.index()] >= 0;
    });
    if (!reached) return;
    for (bool staged : {false, true})
      for (const PhaseSpec& phase : phases(op, staged))
        if (is_backward(phase.phase) && is_wanted(op, phase))
          add_job(op, phase, {.backward = true, .staged = staged});
  }

  /// Whether somebody needs what this use of a backward phase writes.
  bool is_needed(std::size_t op, const Use& use) const {
    const Signature& s = signature(op);
    Role role = s.slots[as_index(use.slot)].role;
    if (!use.gradient) return role == Role::statistic;
    const Operator& own = graph_.operators[op];
    return role == Role::input ? needed_[tensor_at(own, s, use.slot).index()]
                               : moves(parameter_at(own, s, use.slot));
  }

  bool is_wanted(std::size_t op, const PhaseSpec& phase) const {
    return std::ranges::any_of(phase.uses, [&](const Use& use) {
      return use.access != Access::read && is_needed(op, use);
    });
  }

  struct Place {
    bool backward = false;
    bool staged = false;
  };

  void add_job(std::size_t op, const PhaseSpec& phase, Place place) {
    auto number = static_cast<std::int32_t>(made_.jobs.size());
    Job job{.op = static_cast<std::int32_t>(op),
            .phase = &phase,
            .backward = place.backward,
            .staged = place.staged,
            .order = static_cast<std::int32_t>(&phase - phases(op, place.staged).data())};
    for (std::size_t use = 0; use < phase.uses.size(); ++use) {
      std::int32_t value = value_of(op, phase.uses[use], place.backward);
      job.values.push_back(value);
      if (value >= 0)
        made_.values[as_index(value)].uses.push_back({number, static_cast<std::int32_t>(use)});
    }
    made_.jobs.push_back(std::move(job));
    made_.jobs_of[op].push_back(number);
  }

  void add_update(std::size_t parameter) {
    const Parameter& own = graph_.parameters[parameter];
    auto rule = request_.optimizer->rules.find(own.name);
    if (!own.trained || rule == request_.optimizer->rules.end()) return;
    if (made_.parameter_gradients[parameter] < 0) return;
    made_.updated[parameter] = true;
    // Whether the update has norms depends on how the parameter is cut.
    if (!troika::signature(rule->second, std::vector{own.spec}).staged.empty())
      made_.norms[parameter] = add({ValueKind::norms, static_cast<std::int32_t>(parameter)});
  }

  std::int32_t value_of(std::size_t op, const Use& use, bool backward) {
    const Signature& s = signature(op);
    const Operator& own = graph_.operators[op];
    auto number = static_cast<std::int32_t>(op);
    switch (s.slots[as_index(use.slot)].role) {
      case Role::scalars:
      case Role::control:
        return -1;
      case Role::input:
      case Role::output: {
        std::size_t tensor = tensor_at(own, s, use.slot).index();
        if (!use.gradient) return find(made_.tensors[tensor], ValueKind::tensor, tensor);
        bool unused = use.access == Access::write && !is_needed(op, use);
        return unused ? add({ValueKind::unused, number, use.slot})
                      : find(made_.gradients[tensor], ValueKind::gradient, tensor);
      }
      case Role::weight:
      case Role::state: {
        ParameterId parameter = parameter_at(own, s, use.slot);
        std::size_t at = parameter.index();
        if (!use.gradient) return find(made_.parameters[at], ValueKind::parameter, at);
        bool needed = backward ? is_needed(op, use) : graph_[parameter].trained;
        return needed ? find(made_.parameter_gradients[at], ValueKind::parameter_gradient, at)
                      : add({ValueKind::unused, number, use.slot});
      }
      case Role::saved:
      case Role::statistic:
        return find(kept_.try_emplace({op, use.slot}, -1).first->second, ValueKind::kept, op,
                    use.slot);
    }
    throw Bug("a slot without a role");
  }

  std::int32_t add(OutlinedValue value) {
    made_.values.push_back(std::move(value));
    return static_cast<std::int32_t>(made_.values.size()) - 1;
  }

  std::int32_t find(std::int32_t& known, ValueKind kind, std::size_t of, int slot = -1) {
    if (known < 0) known = add({kind, static_cast<std::int32_t>(of), slot});
    return known;
  }

  const OutlineRequest& request_;
  const Graph& graph_;
  const std::vector<bool> wanted_;
  std::vector<bool> needed_;  // by tensor
  std::map<std::pair<std::size_t, int>, std::int32_t> kept_;
  Outline made_;
};

}  // namespace

void set_staged(Outline& outline, std::size_t op, bool staged) {
  if (outline.staged[op] == staged) return;
  outline.staged[op] = staged;
  for (std::int32_t job : outline.jobs_of[op])
    for (std::int32_t value : outline.jobs[as_index(job)].values)
      if (value >= 0) choose_uses(outline, outline.values[as_index(value)]);
}

Outline make_outline(const OutlineRequest& request) { return Outliner(request).run(); }

}  // namespace troika
