#include "lower/insert_updates.h"

#include <algorithm>

#include "base/error.h"

namespace troika {
namespace {

/// Index of the last task that touches the parameter or writes its gradient.
std::size_t last_need(const Draft& draft, BufferId parameter, BufferId gradient) {
  std::size_t last = 0;
  for (std::size_t at = 0; at < draft.tasks.tasks.size(); ++at) {
    for (const BufferUse& use : draft.tasks.tasks[at].uses) {
      BufferId used = draft.tasks.root(use.buffer);
      if (used == parameter || used == draft.tasks.root(gradient)) last = at;
    }
    if (std::holds_alternative<Guard>(draft.tasks.tasks[at].key.op)) last = std::max(last, at);
  }
  return last;
}

void guard_gradient(Draft& draft) {
  TensorSpec sum{{1}, DType::f64};
  std::vector<BufferId> squares;
  for (std::size_t at = 0; at < draft.graph.parameters.size(); ++at) {
    BufferId gradient = draft.parameter_gradients[at];
    if (!gradient.valid() || draft.graph.parameters[at].state) continue;
    const std::string& name = draft.graph.parameters[at].name;
    squares.push_back(add_buffer(draft, {"square_sum " + name, sum, Category::workspace}));
    add_task(draft, "update " + name, name + " square_sum",
             {SquareSum{}, {draft.tasks[gradient].spec}, Phase::forward, {}},
             {{gradient, Access::read}, {squares.back(), Access::write}})
        .is_update = true;
  }
  TROIKA_CHECK(!squares.empty(), "a training program without trained parameters");
  BufferId total = sum_of(draft, "guard", "square_sum", squares);
  Guard guard{.gradient = true, .clip_norm = draft.request.optimizer->clip_norm};
  add_task(draft, "guard", "guard", {guard, {sum, sum, sum}, Phase::update, {}},
           {{draft.loss_sums[0], Access::read},
            {draft.weight_sums[0], Access::read},
            {total, Access::read},
            {control_buffer(draft), Access::update}})
      .is_update = true;
}

Task update_task(Draft& draft, std::size_t at, const Op& rule) {
  const Parameter& parameter = draft.graph.parameters[at];
  Signature s = signature(rule, std::vector{parameter.spec});
  std::vector<BufferUse> uses;
  for (const Use& use : s.at(Phase::update).uses) {
    const Slot& slot = s.slots[static_cast<std::size_t>(use.slot)];
    BufferId buffer;
    switch (slot.role) {
      case Role::scalars:
        buffer = scalars_buffer(draft);
        break;
      case Role::control:
        buffer = control_buffer(draft);
        break;
      case Role::state:
        buffer = persistent_buffer(
            draft, {parameter.name + "." + slot.name, slot.spec, Category::optimizer});
        break;
      default:
        buffer = use.gradient ? draft.parameter_gradients[at] : draft.parameters[at];
    }
    uses.push_back({buffer, use.access});
  }
  return {.id = new_task_id(draft.tasks, "update " + parameter.name),
          .name = parameter.name + " update",
          .device = DeviceId(0u),
          .key = {rule, {parameter.spec}, Phase::update, {}},
          .uses = uses,
          .is_update = true};
}

}  // namespace

void insert_updates(Draft& draft) {
  const OptimizerSpec& optimizer = *draft.request.optimizer;
  if (optimizer.watches_gradient()) guard_gradient(draft);
  std::vector<std::vector<Task>> behind(draft.tasks.tasks.size());
  for (std::size_t at = 0; at < draft.graph.parameters.size(); ++at) {
    auto rule = optimizer.rules.find(draft.graph.parameters[at].name);
    BufferId gradient = draft.parameter_gradients[at];
    if (rule == optimizer.rules.end() || !gradient.valid() || !draft.graph.parameters[at].trained)
      continue;
    std::size_t place = last_need(draft, draft.parameters[at], gradient);
    behind[place].push_back(update_task(draft, at, rule->second));
  }
  std::vector<Task> ordered;
  for (std::size_t at = 0; at < behind.size(); ++at) {
    ordered.push_back(std::move(draft.tasks.tasks[at]));
    std::ranges::move(behind[at], std::back_inserter(ordered));
  }
  draft.tasks.tasks = std::move(ordered);
}

}  // namespace troika
