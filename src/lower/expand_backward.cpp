#include "lower/expand_backward.h"

#include <algorithm>

#include "base/error.h"
#include "lower/expand_forward.h"
#include "lower/expand_phase.h"
#include "lower/obtain.h"

namespace troika {
namespace {

bool is_backward(Phase phase) {
  return phase == Phase::backward || phase == Phase::backward_data ||
         phase == Phase::backward_weight || phase == Phase::backward_statistics ||
         phase == Phase::backward_apply;
}

/// Walks the operators in reverse and collects, per tensor, the gradients that its readers
/// contribute.
class Backward {
 public:
  Backward(Draft& draft, std::int64_t part) : draft_(draft), graph_(draft.graph), part_(part) {
    find_needed();
    for (const Tensor& tensor : graph_.tensors)
      gradients_.push_back(
          {.name = part_name(draft, "d " + tensor.name, part), .spec = tensor.spec});
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
                     return !gradients_[output.index()].empty();
                   });
    if (!reached) return;
    for (const PhaseSpec& phase : phases_of(draft_, op, s)) {
      if (is_backward(phase.phase) && is_wanted(op, s, phase)) expand_phase_of(op, s, phase);
    }
  }

  /// Whether someone needs what this use writes.
  bool is_needed(const Operator& op, const Signature& s, const Use& use) const {
    Role role = s.slots[static_cast<std::size_t>(use.slot)].role;
    if (!use.gradient) return role == Role::statistic;
    return role == Role::input ? needed_[tensor_at(op, s, use.slot).index()]
                               : moves(parameter_at(op, s, use.slot));
  }
  bool is_wanted(const Operator& op, const Signature& s, const PhaseSpec& phase) const {
    return std::ranges::any_of(phase.uses, [&](const Use& use) {
      return use.access != Access::read && is_needed(op, s, use);
    });
  }

  void expand_phase_of(const Operator& op, const Signature& s, const PhaseSpec& phase) {
    Value unused{.name = op.name + " unused", .category = Category::workspace};
    auto find = [&](const Use& use) -> Value& {
      if (use.access == Access::write && !is_needed(op, s, use)) return unused;
      Role role = s.slots[static_cast<std::size_t>(use.slot)].role;
      if (use.gradient && (role == Role::input || role == Role::output))
        return gradients_[tensor_at(op, s, use.slot).index()];
      return value_of(draft_, op, s, use, part_);
    };
    expand_phase(draft_, {op, s, phase, part_}, find);
    // Sums over micro-batches are made as they come, so that one buffer holds them.
    for (const Use& use : phase.uses) {
      if (s.slots[static_cast<std::size_t>(use.slot)].role != Role::weight || !use.gradient)
        continue;
      if (draft_.micro_batches() > 1) merge_gradient(draft_, parameter_at(op, s, use.slot));
    }
  }

  Draft& draft_;
  const Graph& graph_;
  std::int64_t part_;
  std::vector<bool> needed_;
  std::vector<Value> gradients_;  // by tensor
};

}  // namespace

void expand_backward(Draft& draft, std::int64_t part) { Backward(draft, part).expand(); }

}  // namespace troika
