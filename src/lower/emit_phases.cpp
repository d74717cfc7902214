// The phases of operators on the tiles of a device, and what the host writes and reads.
#include <algorithm>

#include "lower/device_emitter.h"
#include "lower/names.h"
#include "ops/step_scalars.h"

namespace troika {

const Fragment& DeviceEmitter::emit_job(std::size_t job) {
  fragment_.clear();
  // Buffers of a view are those of what it views.
  if (outline().jobs[job].phase->view) return fragment_;
  for (std::int32_t part = 0; part < plan_.micro_batches(); ++part)
    for (std::int32_t tile : here_.tiles_here(plan_.distribution.jobs[job].set))
      emit_phase(job, part, tile);
  return fragment_;
}

void DeviceEmitter::emit_phase(std::size_t job, std::int32_t micro_batch, std::int32_t tile) {
  TileSetId set = plan_.distribution.jobs[job].set;
  const KernelUnit& unit = plan_.units.jobs[job][as_index(here_.kind_of(set, tile))];
  if (unit.is_fused_away) return;
  std::int32_t place = here_.place_of(set, tile);
  Moment moment{turn_of(plan_, job, micro_batch, Side::at)};
  moment.turn.rank = static_cast<std::uint32_t>(2 * place + 1);
  PlannedTask task = begin(WorkKind::phase, static_cast<std::int32_t>(job), place, micro_batch);
  task.unit = &unit;
  for (std::size_t at = 0; at < unit.operands.size(); ++at) {
    const ValueUse& each = unit.operands[at];
    Access access = outline().jobs[as_index(each.job)].phase->uses[as_index(each.use)].access;
    BufferRef buffer = operand(each, micro_batch, tile);
    if (access == Access::read) buffer = in_layout(buffer, unit.choice.layouts[at], moment);
    use(buffer, access);
  }
  const Job& own = outline().jobs[job];
  add(task, moment,
      {.micro_batch = static_cast<std::uint32_t>(micro_batch),
       .phase = static_cast<std::uint32_t>(own.phase->phase),
       .subject = Subject::operation,
       .number = static_cast<std::uint32_t>(own.op),
       .index = static_cast<std::uint32_t>(place)});
}

/// Jobs of a fused unit have the same tiles.
BufferRef DeviceEmitter::operand(const ValueUse& use, std::int32_t micro_batch, std::int32_t tile) {
  auto at = as_index(use.job);
  const Job& job = outline().jobs[at];
  const Use& used = job.phase->uses[as_index(use.use)];
  std::int32_t of = job.values[as_index(use.use)];
  if (of < 0) {
    const Signature& s = plan_.tables.index.signatures[as_index(job.op)];
    bool scalars = s.slots[as_index(used.slot)].role == Role::scalars;
    return {.role = scalars ? BufferRole::scalars : BufferRole::control, .index = 0};
  }
  auto value_at = as_index(of);
  const OutlinedValue& own = outline().values[value_at];
  const JobTiles& tiles = plan_.distribution.jobs[at];
  std::int32_t role = tiles.roles[as_index(use.use)];
  if (used.access == Access::write) {
    auto contribution = as_index(role);
    if (own.kind == ValueKind::parameter_gradient)
      contribution += as_index(micro_batch) * own.writers.size();
    return here_.written(value_at, micro_batch, contribution, tile);
  }
  // A gradient that nobody contributes to.
  if (own.writers.empty() && !value(value_at).stored.shared)
    return {.role = BufferRole::zero_read,
            .part = static_cast<std::uint16_t>(here_.place_of(tiles.set, tile)),
            .of = use.job,
            .index = use.use};
  return here_.read_by(value_at, micro_batch, role, tile);
}

std::vector<BufferRef> DeviceEmitter::parameters() const {
  std::vector<BufferRef> all;
  for (std::size_t at = 0; at < outline().values.size(); ++at)
    if (outline().values[at].kind == ValueKind::parameter)
      for (std::int32_t tile : here_.tiles_here(value(at).stored.set))
        all.push_back(here_.written(at, 0, 0, tile));
  return all;
}

bool DeviceEmitter::is_input(std::size_t at) const {
  return value(at).stored.shared && outline().values[at].kind != ValueKind::parameter;
}

std::vector<HostBuffer> DeviceEmitter::inputs() const {
  std::vector<HostBuffer> all;
  for (std::size_t at = 0; at < outline().values.size(); ++at) {
    if (!is_input(at)) continue;
    const DistributedValue& own = value(at);
    const Tensor& tensor = plan_.request.graph->tensors[as_index(outline().values[at].of)];
    for (std::int32_t part = 0; part < plan_.micro_batches(); ++part) {
      for (std::int32_t tile : here_.tiles_here(own.stored.set)) {
        Region region = region_of(plan_.tables.tiles, own.stored, tile, own.spec.shape);
        all.push_back(
            {to_string(SliceName{part_name(tensor.name, part, plan_.micro_batches()),
                                 own.spec.shape, region, here_.number(), plan_.has_peers()}),
             here_.written(at, part, 0, tile)});
      }
    }
  }
  return all;
}

Bytes DeviceEmitter::input_bytes() const {
  Bytes total{};
  for (std::size_t at = 0; at < outline().values.size(); ++at)
    for (std::int32_t tile : is_input(at) ? here_.tiles_here(value(at).stored.set)
                                          : std::span<const std::int32_t>{})
      total += here_.bytes_of(here_.written(at, 0, 0, tile)) * plan_.micro_batches();
  return total;
}

/// Outputs that are not sums are put together on the first device.
std::vector<DeviceEmitter::HeldOutput> DeviceEmitter::held_outputs() const {
  std::vector<HeldOutput> held;
  if (plan_.request.optimizer != nullptr || here_.number() != 0) return held;
  for (const NamedTensor& output : plan_.request.graph->outputs) {
    std::int32_t of = outline().tensors[output.tensor.index()];
    if (of < 0 || value(as_index(of)).held < 0) continue;
    if (std::ranges::count(plan_.request.outputs, output.name) > 0)
      held.push_back({output, as_index(of)});
  }
  return held;
}

}  // namespace troika
