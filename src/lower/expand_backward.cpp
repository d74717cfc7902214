#include "lower/expand_backward.h"

#include <algorithm>

#include "base/error.h"
#include "lower/expand_forward.h"

namespace troika {
namespace {

bool is_backward(Phase phase) {
  return phase == Phase::backward || phase == Phase::backward_data ||
         phase == Phase::backward_weight;
}

/// Walks the operators in reverse and collects, per tensor, the gradients that its readers
/// contribute.
class Backward {
 public:
  Backward(Draft& draft, std::int64_t part)
      : draft_(draft),
        graph_(draft.graph),
        part_(part),
        contributions_(draft.graph.tensors.size()) {
    find_needed();
  }

  void expand() {
    for (std::size_t at = graph_.operators.size(); at-- > 0;) {
      if (draft_.wanted[at]) expand_operator(graph_.operators[at], draft_.signatures[at]);
    }
  }

 private:
  /// A tensor needs a gradient when a trained weight lies upstream of it.
  void find_needed() {
    needed_.resize(graph_.tensors.size());
    for (std::size_t at = 0; at < graph_.operators.size(); ++at) {
      const Operator& op = graph_.operators[at];
      bool trained = std::ranges::any_of(op.parameters, [&](ParameterId id) { return moves(id); });
      bool upstream =
          std::ranges::any_of(op.inputs, [&](TensorId id) { return needed_[id.index()]; });
      for (TensorId output : op.outputs) needed_[output.index()] = trained || upstream;
    }
  }

  bool moves(ParameterId id) const { return graph_[id].trained && !graph_[id].state; }

  bool is_loss(const Operator& op) const {
    return std::ranges::count(op.outputs, graph_.loss->loss_sum) > 0;
  }

  void expand_operator(const Operator& op, const Signature& s) {
    bool reached = is_loss(op) || std::ranges::any_of(op.outputs, [&](TensorId output) {
                     return !contributions_[output.index()].empty();
                   });
    if (!reached) return;
    for (const PhaseSpec& phase : s.phases) {
      if (is_backward(phase.phase) && is_wanted(op, s, phase)) expand_phase(op, s, phase);
    }
  }

  /// Whether someone needs what this use writes.
  bool is_needed(const Operator& op, const Signature& s, const Use& use) const {
    Role role = s.slots[static_cast<std::size_t>(use.slot)].role;
    if (!use.gradient || use.access == Access::read) return false;
    return role == Role::input ? needed_[tensor_at(op, s, use.slot).index()]
                               : moves(parameter_at(op, s, use.slot));
  }
  bool is_wanted(const Operator& op, const Signature& s, const PhaseSpec& phase) const {
    return std::ranges::any_of(phase.uses, [&](const Use& use) { return is_needed(op, s, use); });
  }

  void expand_phase(const Operator& op, const Signature& s, const PhaseSpec& phase) {
    if (phase.view) return pass_through(op, s, phase);
    std::vector<BufferUse> uses;
    for (const Use& use : phase.uses) uses.push_back({find_buffer(op, s, use), use.access});
    KernelKey key = tile_key(s, op.op, phase.phase, micro_batch_tile(draft_, s, part_));
    std::string name = op.name + " " + std::string(to_string(phase.phase));
    add_task(draft_, op.name, part_name(draft_, name, part_), key, uses);
    for (std::size_t at = 0; at < uses.size(); ++at) {
      if (is_needed(op, s, phase.uses[at])) deliver(op, s, phase.uses[at], uses[at].buffer);
    }
  }

  /// The gradient of the output is the gradient of the input, perhaps under another shape.
  void pass_through(const Operator& op, const Signature& s, const PhaseSpec& phase) {
    const Use& to = phase.uses.back();
    BufferId from = gradient_of(op, s, phase.uses.front().slot);
    const Slot& slot = s.slots[static_cast<std::size_t>(to.slot)];
    TensorSpec spec{region_of(slot, micro_batch_tile(draft_, s, part_)).shape(), slot.spec.dtype};
    deliver(op, s, to,
            add_buffer(draft_, {gradient_name(op, s, to.slot), spec, Category::activation, from}));
  }

  std::string gradient_name(const Operator& op, const Signature& s, int slot) const {
    return part_name(draft_, "d " + op.name + "." + s.slots[static_cast<std::size_t>(slot)].name,
                     part_);
  }

  BufferId find_buffer(const Operator& op, const Signature& s, const Use& use) {
    if (!use.gradient) return buffer_of(draft_, op, s, use, part_);
    if (use.access == Access::read) return gradient_of(op, s, use.slot);
    const Slot& slot = s.slots[static_cast<std::size_t>(use.slot)];
    TensorSpec spec{region_of(slot, micro_batch_tile(draft_, s, part_)).shape(), slot.spec.dtype};
    Category category = !is_needed(op, s, use)      ? Category::workspace
                        : slot.role == Role::weight ? Category::gradient
                                                    : Category::activation;
    return add_buffer(draft_, {gradient_name(op, s, use.slot), spec, category});
  }

  void deliver(const Operator& op, const Signature& s, const Use& use, BufferId buffer) {
    if (s.slots[static_cast<std::size_t>(use.slot)].role == Role::input)
      contributions_[tensor_at(op, s, use.slot).index()].push_back(buffer);
    else
      add_parameter_gradient(draft_, parameter_at(op, s, use.slot), buffer);
  }

  /// The whole gradient of an output: all readers come later in the graph, so all have contributed.
  BufferId gradient_of(const Operator& op, const Signature& s, int slot) {
    TensorId tensor = tensor_at(op, s, slot);
    std::vector<BufferId>& parts = contributions_[tensor.index()];
    const std::string& name = graph_[tensor].name;
    if (parts.empty()) {
      const Slot& output = s.slots[static_cast<std::size_t>(slot)];
      TensorSpec spec{region_of(output, micro_batch_tile(draft_, s, part_)).shape(),
                      output.spec.dtype};
      return persistent_buffer(draft_, {"zeros " + to_string(spec), spec, Category::workspace});
    }
    if (parts.size() > 1)
      parts = {sum_of(draft_, "fan-out " + name, part_name(draft_, "d " + name, part_), parts)};
    return parts[0];
  }

  Draft& draft_;
  const Graph& graph_;
  std::int64_t part_;
  std::vector<bool> needed_;
  std::vector<std::vector<BufferId>> contributions_;
};

}  // namespace

void expand_backward(Draft& draft, std::int64_t part) { Backward(draft, part).expand(); }

void close_loss(Draft& draft) {
  const Loss& loss = *draft.graph.loss;
  for (const auto& values : draft.values) {
    draft.loss_sums.push_back(values[loss.loss_sum.index()]);
    draft.weight_sums.push_back(values[loss.weight_sum.index()]);
  }
  draft.loss_sums = {sum_of(draft, "loss", "loss_sum", draft.loss_sums)};
  draft.weight_sums = {sum_of(draft, "loss", "weight_sum", draft.weight_sums)};
  if (draft.request.optimizer->watches_gradient()) return;
  TensorSpec sum{{1}, DType::f64};
  add_task(draft, "guard", "guard", {Guard{}, {sum, sum}, Phase::update, {}},
           {{draft.loss_sums[0], Access::read},
            {draft.weight_sums[0], Access::read},
            {control_buffer(draft), Access::update}})
      .is_update = true;
}

}  // namespace troika
