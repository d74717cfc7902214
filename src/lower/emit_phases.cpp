// The phases of operators on the tiles of a device, and what the host writes and reads.
#include <algorithm>

#include "lower/device_emitter.h"
#include "lower/names.h"
#include "ops/step_scalars.h"

namespace troika {

void DeviceEmitter::emit_phases() {
  for (std::int32_t part = 0; part < plan_.micro_batches(); ++part) {
    for (std::size_t job = 0; job < outline().jobs.size(); ++job) {
      if (outline().jobs[job].phase->view) continue;  // its buffers are made where they are read
      for (std::int32_t tile : tiles_here(plan_.distribution.jobs[job].set))
        emit_phase(job, part, tile);
    }
  }
}

void DeviceEmitter::emit_phase(std::size_t job, std::int32_t micro_batch, std::int32_t tile) {
  TileSetId set = plan_.distribution.jobs[job].set;
  const KernelUnit& unit =
      plan_.units.jobs[job][as_index(kind_of(set, tile))];
  if (unit.is_fused_away) return;
  std::int32_t place = place_of(set, tile);
  Moment moment{turn_of(plan_, job, micro_batch, Side::at)};
  moment.turn.rank = static_cast<std::uint32_t>(2 * place + 1);
  PlannedTask task{.kind = WorkKind::phase,
                   .of = static_cast<std::int32_t>(job),
                   .index = tile,
                   .micro_batch = micro_batch,
                   .unit = &unit};
  for (std::size_t at = 0; at < unit.operands.size(); ++at) {
    const ValueUse& use = unit.operands[at];
    const Use& used = outline().jobs[as_index(use.job)]
                          .phase->uses[as_index(use.use)];
    std::int32_t buffer = operand(use, micro_batch, tile);
    if (used.access == Access::read) buffer = in_layout(buffer, unit.choice.layouts[at], moment);
    task.uses.push_back({buffer, used.access});
  }
  const Job& own = outline().jobs[job];
  add(std::move(task), moment,
      {.micro_batch = static_cast<std::uint32_t>(micro_batch),
       .phase = static_cast<std::uint32_t>(own.phase->phase),
       .subject = Subject::operation,
       .number = static_cast<std::uint32_t>(own.op),
       .index = static_cast<std::uint32_t>(place)});
}

/// Jobs of a fused unit have the same tiles.
std::int32_t DeviceEmitter::operand(const ValueUse& use, std::int32_t micro_batch,
                                    std::int32_t tile) {
  auto at = as_index(use.job);
  const Job& job = outline().jobs[at];
  const Use& used = job.phase->uses[as_index(use.use)];
  std::int32_t of = job.values[as_index(use.use)];
  const Signature& s = plan_.tables.index.signatures[as_index(job.op)];
  const Slot& slot = s.slots[as_index(used.slot)];
  if (slot.role == Role::scalars)
    return fixture(BufferRole::scalars, 0, {{kScalarCount}, DType::f64});
  if (slot.role == Role::control)
    return fixture(BufferRole::control, 0, {{kControlCount}, DType::f64});
  auto value_at = as_index(of);
  std::int32_t role = plan_.distribution.jobs[at].roles[as_index(use.use)];
  if (used.access == Access::write) {
    std::size_t contribution = as_index(role);
    if (outline().values[value_at].kind == ValueKind::parameter_gradient)
      contribution += as_index(micro_batch) *
                      outline().values[value_at].writers.size();
    return buffer_of(value_at, micro_batch, contribution_local(value_at, contribution, tile));
  }
  if (outline().values[value_at].writers.empty() && !value(value_at).stored.shared) {
    // A gradient that nobody contributes to.
    const Participant& own = plan_.distribution.jobs[at].uses[as_index(use.use)];
    return zeros({region_of(plan_.tables.tiles, own, tile, value(value_at).spec.shape).shape(),
                  value(value_at).spec.dtype});
  }
  return read_by(value_at, micro_batch, role, tile);
}

/// The host writes just what tiles read.
void DeviceEmitter::note_inputs() {
  for (std::size_t at = 0; at < outline().values.size(); ++at) {
    const DistributedValue& own = value(at);
    if (!own.stored.shared) continue;
    bool parameter = outline().values[at].kind == ValueKind::parameter;
    for (std::int32_t part = 0; part < (parameter ? 1 : plan_.micro_batches()); ++part) {
      for (std::int32_t tile : tiles_here(own.stored.set)) {
        std::int32_t buffer = buffer_of(at, part, contribution_local(at, 0, tile));
        if (parameter) continue;
        const Tensor& tensor =
            plan_.request.graph->tensors[as_index(outline().values[at].of)];
        Region region = region_of(plan_.tables.tiles, own.stored, tile, own.spec.shape);
        made_.inputs[to_string(SliceName{part_name(tensor.name, part, plan_.micro_batches()),
                                         own.spec.shape, region, device_, plan_.has_peers()})] =
            buffer;
      }
    }
  }
}

/// Outputs that are not sums are put together on the first device.
void DeviceEmitter::hold_outputs() {
  if (plan_.request.optimizer != nullptr || device_ != 0) return;
  for (const NamedTensor& output : plan_.request.graph->outputs) {
    std::int32_t of = outline().tensors[output.tensor.index()];
    if (of < 0 || value(as_index(of)).held < 0) continue;
    if (std::ranges::count(plan_.request.outputs, output.name) == 0) continue;
    auto at = as_index(of);
    for (std::int32_t part = 0; part < plan_.micro_batches(); ++part) {
      Moment moment{end_of_forward(plan_, part)};
      moment.turn.rank = kUpdateRank + 1;
      std::int32_t buffer =
          in_layout(read_by(at, part, value(at).held, 0), Layout::plain, moment);
      made_.buffers[as_index(buffer)].held = true;
      made_.outputs[part_name(output.name, part, plan_.micro_batches())] = buffer;
    }
  }
}

}  // namespace troika
