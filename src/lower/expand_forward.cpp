#include "lower/expand_forward.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "lower/close_loss.h"
#include "lower/expand_phase.h"
#include "lower/obtain.h"

namespace troika {
namespace {

bool is_forward(Phase phase) {
  return phase == Phase::forward || phase == Phase::statistics_1 || phase == Phase::statistics_2 ||
         phase == Phase::apply;
}

Value& kept_value(Draft& draft, const Operator& op, const Slot& slot, std::int64_t part) {
  std::string name = part_name(draft, op.name + "." + slot.name, part);
  Value value{name, slot.spec, Category::activation, slot.combine};
  return draft.kept.try_emplace(name, std::move(value)).first->second;
}

/// Batch statistics are to running statistics what gradients are to weights: over micro-batches
/// they are added up as they come.
void merge_state_gradients(Draft& draft, const Operator& op, const Signature& s) {
  if (draft.micro_batches() == 1) return;
  for (int slot : s.slots_of(Role::state)) merge_gradient(draft, parameter_at(op, s, slot));
}

void expand_operator(Draft& draft, const Operator& op, const Signature& s, std::int64_t part) {
  // What nobody trains is computed and forgotten.
  Value unused{.name = op.name + " unused", .category = Category::workspace};
  auto find = [&](const Use& use) -> Value& {
    if (use.gradient && !draft.graph[parameter_at(op, s, use.slot)].trained) return unused;
    return value_of(draft, op, s, use, part);
  };
  for (const PhaseSpec& phase : phases_of(draft, op, s))
    if (is_forward(phase.phase)) expand_phase(draft, {op, s, phase, part}, find);
  merge_state_gradients(draft, op, s);
}

void hold(Draft& draft, const std::string& name, BufferId buffer) {
  draft.tasks[buffer].held = true;
  draft.tasks.outputs[name] = buffer;
}

void hold_sum(Draft& draft, const NamedTensor& output) {
  std::vector<Value*> values;
  for (auto& parts : draft.values) values.push_back(&parts[output.tensor.index()]);
  const std::string& name = draft.graph[output.tensor].name;
  for (const auto& [device, sum] : sum_everywhere(draft, "output " + output.name, name, values))
    hold(draft, draft.has_peers() ? fmt::format("{}@{}", output.name, device.value) : output.name,
         sum);
}

/// What one micro-batch has of it, as one box.
Region region_of_part(const Value& value) {
  std::vector<ValuePiece> pieces = value.finished;
  for (const std::vector<ValuePiece>& term : value.terms)
    pieces.insert(pieces.end(), term.begin(), term.end());
  Region region = pieces.at(0).place.region;
  for (const ValuePiece& piece : pieces) {
    for (std::size_t dim = 0; dim < region.rank(); ++dim) {
      Range& range = region.ranges[dim];
      range.begin = std::min(range.begin, piece.place.region[dim].begin);
      range.end = std::max(range.end, piece.place.region[dim].end);
    }
  }
  return region;
}

void hold_tensor(Draft& draft, const NamedTensor& output) {
  for (std::int64_t part = 0; part < draft.micro_batches(); ++part) {
    Value& value = draft.values[static_cast<std::size_t>(part)][output.tensor.index()];
    Region region = region_of_part(value);
    BufferId whole =
        obtain(draft, value, {{region, DeviceId(std::size_t{0})}}, "output " + output.name)[0];
    hold(draft, part_name(draft, output.name, part), whole);
  }
}

}  // namespace

const std::vector<PhaseSpec>& phases_of(const Draft& draft, const Operator& op,
                                        const Signature& s) {
  for (std::int64_t part = 0; part < draft.micro_batches(); ++part)
    for (const Tile& tile : tiles_of(draft, op, s, part))
      if (s.needs_stages(tile.box)) return s.staged;
  return s.phases;
}

Value& value_of(Draft& draft, const Operator& op, const Signature& s, const Use& use,
                std::int64_t part) {
  const Slot& slot = s.slots[static_cast<std::size_t>(use.slot)];
  switch (slot.role) {
    case Role::input:
    case Role::output:
      return draft.values[static_cast<std::size_t>(part)][tensor_at(op, s, use.slot).index()];
    case Role::weight:
    case Role::state: {
      std::size_t parameter = parameter_at(op, s, use.slot).index();
      return use.gradient ? draft.parameter_gradients[parameter] : draft.parameters[parameter];
    }
    case Role::saved:
    case Role::statistic:
      return kept_value(draft, op, slot, part);
    case Role::scalars:
    case Role::control:
      break;
  }
  throw Bug("a slot that is no value");
}

void merge_gradient(Draft& draft, ParameterId parameter) {
  merge_terms(draft, draft.parameter_gradients[parameter.index()],
              "gradient " + draft.graph[parameter].name);
}

void expand_forward(Draft& draft, std::int64_t part) {
  for (std::size_t at = 0; at < draft.graph.operators.size(); ++at) {
    if (draft.wanted[at])
      expand_operator(draft, draft.graph.operators[at], draft.signatures[at], part);
  }
}

void hold_outputs(Draft& draft) {
  for (const NamedTensor& output : draft.graph.outputs) {
    bool asked = std::ranges::count(draft.request.outputs, output.name) > 0;
    bool is_sum = draft.graph[output.tensor].spec == TensorSpec{{1}, DType::f64};
    if (!asked || (draft.request.optimizer != nullptr && !is_sum)) continue;
    if (is_sum)
      hold_sum(draft, output);
    else
      hold_tensor(draft, output);
  }
}

}  // namespace troika
