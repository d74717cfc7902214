#include "lower/expand_forward.h"

#include <algorithm>

#include "base/error.h"

namespace troika {
namespace {

BufferId saved_buffer(Draft& draft, const std::string& name, const TensorSpec& spec) {
  auto found = draft.kept.find(name);
  if (found != draft.kept.end()) return found->second;
  return draft.kept[name] = add_buffer(draft, {name, spec});
}

/// Batch statistics are to running statistics what gradients are to weights.
BufferId state_gradient(Draft& draft, ParameterId parameter, const TensorSpec& spec,
                        std::int64_t part) {
  return add_buffer(draft, {part_name(draft, "d " + draft.graph[parameter].name, part), spec,
                            Category::gradient});
}

void expand_view(Draft& draft, const Operator& op, const Signature& s, std::int64_t part) {
  Region tile = micro_batch_tile(draft, s, part);
  BufferId from = draft.values[static_cast<std::size_t>(part)][op.inputs[0].index()];
  const Slot& output = s.slots[static_cast<std::size_t>(s.slots_of(Role::output)[0])];
  TensorSpec spec{region_of(output, tile).shape(), output.spec.dtype};
  draft.values[static_cast<std::size_t>(part)][op.outputs[0].index()] = add_buffer(
      draft,
      {part_name(draft, draft.graph[op.outputs[0]].name, part), spec, Category::activation, from});
}

void expand_operator(Draft& draft, const Operator& op, const Signature& s, std::int64_t part) {
  const PhaseSpec& phase = s.at(Phase::forward);
  if (phase.view) return expand_view(draft, op, s, part);
  std::vector<BufferUse> uses;
  for (const Use& use : phase.uses)
    uses.push_back({buffer_of(draft, op, s, use, part), use.access});
  KernelKey key = tile_key(s, op.op, Phase::forward, micro_batch_tile(draft, s, part));
  add_task(draft, op.name, part_name(draft, op.name + " forward", part), key, uses);
  for (std::size_t at = 0; at < uses.size(); ++at) {
    if (!phase.uses[at].gradient) continue;
    ParameterId parameter = parameter_at(op, s, phase.uses[at].slot);
    if (draft.graph[parameter].trained) add_parameter_gradient(draft, parameter, uses[at].buffer);
  }
}

}  // namespace

BufferId buffer_of(Draft& draft, const Operator& op, const Signature& s, const Use& use,
                   std::int64_t part) {
  const Slot& slot = s.slots[static_cast<std::size_t>(use.slot)];
  TensorSpec spec{region_of(slot, micro_batch_tile(draft, s, part)).shape(), slot.spec.dtype};
  auto& values = draft.values[static_cast<std::size_t>(part)];
  switch (slot.role) {
    case Role::input:
      return values[tensor_at(op, s, use.slot).index()];
    case Role::weight:
    case Role::state: {
      ParameterId parameter = parameter_at(op, s, use.slot);
      return use.gradient ? state_gradient(draft, parameter, spec, part)
                          : draft.parameters[parameter.index()];
    }
    case Role::output: {
      TensorId tensor = tensor_at(op, s, use.slot);
      if (!values[tensor.index()].valid())
        values[tensor.index()] =
            add_buffer(draft, {part_name(draft, draft.graph[tensor].name, part), spec});
      return values[tensor.index()];
    }
    case Role::saved:
    case Role::statistic:
      return saved_buffer(draft, part_name(draft, op.name + "." + slot.name, part), spec);
    case Role::scalars:
      return scalars_buffer(draft);
    case Role::control:
      return control_buffer(draft);
  }
  throw Bug("a slot without a role");
}

void expand_forward(Draft& draft, std::int64_t part) {
  for (std::size_t at = 0; at < draft.graph.operators.size(); ++at) {
    if (draft.wanted[at])
      expand_operator(draft, draft.graph.operators[at], draft.signatures[at], part);
  }
}

void hold_outputs(Draft& draft) {
  std::int64_t parts = draft.request.strategy->micro_batches;
  for (const NamedTensor& output : draft.graph.outputs) {
    bool asked = std::ranges::count(draft.request.outputs, output.name) > 0;
    bool is_sum = draft.graph[output.tensor].spec == TensorSpec{{1}, DType::f64};
    if (!asked || (draft.request.optimizer != nullptr && !is_sum)) continue;
    std::vector<BufferId> buffers;
    for (std::int64_t part = 0; part < parts; ++part)
      buffers.push_back(draft.values[static_cast<std::size_t>(part)][output.tensor.index()]);
    if (is_sum)
      buffers = {sum_of(draft, "output " + output.name, draft.graph[output.tensor].name, buffers)};
    for (std::size_t part = 0; part < buffers.size(); ++part) {
      draft.tasks[buffers[part]].held = true;
      std::string name = buffers.size() == 1
                             ? output.name
                             : part_name(draft, output.name, static_cast<std::int64_t>(part));
      draft.tasks.outputs[name] = buffers[part];
    }
  }
}

}  // namespace troika
