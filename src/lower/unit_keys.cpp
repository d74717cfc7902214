#include "lower/unit_keys.h"

namespace troika {

TensorSpec updated_spec(const UnitRequest& request, const UpdatePlan& update, std::int32_t place) {
  const DistributedValue& weight = request.distribution.values[as_index(update.weight)];
  Shape shape = shape_of_tile(request.tables.tiles, weight.stored, place, weight.spec.shape);
  if (update.shared == nullptr) return {shape, weight.spec.dtype};
  std::int32_t owners = update.shared->places[as_index(place)].owners;
  return {{slice_length(shape.elements(), owners)}, weight.spec.dtype};
}

Region box_of(const UnitRequest& request, std::size_t job, std::int32_t tile) {
  const Distribution& distribution = request.distribution;
  const OperatorTiles& op = distribution.operators[as_index(distribution.outline.jobs[job].op)];
  const TileSet& set = request.tables.tiles.set(distribution.jobs[job].set);
  Region box;
  for (std::size_t axis = 0; axis < op.parts.size(); ++axis) {
    RangesId parts = op.parts[axis];
    box.ranges.push_back(
        parts == 0 ? Range{0, op.extents[axis]}
                   : request.tables.tiles.ranges(parts)[as_index(set.part(tile, op.digits[axis]))]);
  }
  return box;
}

KernelKey key_of(const UnitRequest& request, std::size_t job, std::int32_t tile) {
  const Job& own = request.distribution.outline.jobs[job];
  auto op = as_index(own.op);
  const Signature& s = request.tables.index.signatures[op];
  Region box = box_of(request, job, tile);
  KernelKey key{
      localize(request.request.graph->operators[op].op, s, box), {}, own.phase->phase, {}};
  for (int slot : s.slots_of(Role::input)) {
    const Slot& input = s.slots[as_index(slot)];
    key.inputs.push_back({region_of(input, box).shape(), input.spec.dtype});
  }
  return key;
}

}  // namespace troika
