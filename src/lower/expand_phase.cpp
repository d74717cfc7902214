#include "lower/expand_phase.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "lower/obtain.h"

namespace troika {
namespace {

class PhaseExpansion {
 public:
  PhaseExpansion(Draft& draft, const PhaseOfOperator& expanded, const ValueOfUse& value_of)
      : draft_(draft),
        op_(expanded.op),
        s_(expanded.signature),
        phase_(expanded.phase),
        part_(expanded.part),
        value_of_(value_of),
        fragment_(draft.fragments.phase({op_.op,
                                         s_,
                                         phase_,
                                         split_of(*draft.request.strategy, op_.name),
                                         {part_, draft.micro_batches()}})),
        tiles_(fragment_.tiles) {}

  void expand() {
    std::vector<std::vector<BufferId>> buffers;  // by use, by tile
    for (std::size_t use = 0; use < phase_.uses.size(); ++use)
      buffers.push_back(phase_.uses[use].access == Access::write
                            ? std::vector<BufferId>(tiles_.size())
                            : find_read(use));
    for (std::size_t use = 0; use < buffers.size(); ++use)
      if (phase_.uses[use].access == Access::write) buffers[use] = make_written(use, buffers[0]);
    if (!phase_.view) add_tasks(buffers);
  }

 private:
  const Slot& slot_of(const Use& use) const { return s_.slots[static_cast<std::size_t>(use.slot)]; }

  std::vector<BufferId> find_read(std::size_t at) {
    const Use& use = phase_.uses[at];
    const Slot& slot = slot_of(use);
    std::vector<BufferId> buffers;
    if (slot.role == Role::scalars || slot.role == Role::control) {
      for (const Tile& tile : tiles_)
        buffers.push_back(slot.role == Role::scalars ? scalars_buffer(draft_, tile.device)
                                                     : control_buffer(draft_, tile.device));
      return buffers;
    }
    Value& value = value_of_(use);
    const std::vector<Placed>& places = fragment_.uses[at].places;
    if (slot.role == Role::input && !use.gradient) add_inputs(use, value, places);
    if (value.empty()) {  // a gradient that nobody contributes to
      for (const Placed& place : places)
        buffers.push_back(
            zeros_buffer(draft_, {place.region.shape(), slot.spec.dtype}, place.device));
      return buffers;
    }
    return obtain(draft_, value, places, op_.name);
  }

  /// The host writes just what the tiles read.
  void add_inputs(const Use& use, Value& value, const std::vector<Placed>& places) {
    TensorId tensor = tensor_at(op_, s_, use.slot);
    if (draft_.graph[tensor].producer.valid()) return;
    for (const Placed& place : places) {
      if (find_finished(value, place).valid()) continue;
      Shape part = value.spec.shape;  // of the micro-batch
      if (part.rank() > 0) part[0] /= draft_.micro_batches();
      Region own = within_part(place.region, part);
      std::string name = slice_name(draft_, value.name, part, {own, place.device});
      BufferId buffer =
          add_buffer(draft_, {name, {place.region.shape(), value.spec.dtype}, place.device});
      draft_.tasks[buffer].part_of = draft_.graph[tensor].name;
      draft_.tasks[buffer].region = place.region;
      draft_.tasks[buffer].whole = value.spec.shape;
      draft_.tasks.inputs[name] = buffer;
      value.finished.push_back({place, buffer});
    }
  }

  /// With samples counted from the start of the micro-batch.
  Region within_part(Region region, const Shape& part) const {
    if (part.rank() == 0) return region;
    region.ranges[0].begin -= part_ * part[0];
    region.ranges[0].end -= part_ * part[0];
    return region;
  }

  std::string tile_name(const std::string& name, std::size_t tile) const {
    return tiles_.size() == 1 ? name : fmt::format("{}/{}", name, tile);
  }

  /// Of several contributions to one gradient each is named after who makes it.
  std::string written_name(const Use& use, const Value& value) const {
    if (!use.gradient) return value.name;
    return part_name(draft_, fmt::format("d {}.{}", op_.name, slot_of(use).name), part_);
  }

  std::vector<BufferId> make_written(std::size_t at, const std::vector<BufferId>& viewed) {
    const Use& use = phase_.uses[at];
    const Slot& slot = slot_of(use);
    Value& value = value_of_(use);
    const auto& [places, term_of_tile] = fragment_.uses[at];
    std::vector<BufferId> buffers;
    std::map<std::vector<std::int64_t>, std::vector<ValuePiece>> terms;
    for (std::size_t tile = 0; tile < tiles_.size(); ++tile) {
      BufferRequest request{.name = tile_name(written_name(use, value), tile),
                            .spec = {places[tile].region.shape(), slot.spec.dtype},
                            .device = places[tile].device,
                            .category = value.category};
      if (phase_.view) request.view_of = viewed[tile];
      buffers.push_back(add_buffer(draft_, request));
      terms[term_of_tile[tile]].push_back({places[tile], buffers.back()});
    }
    if (terms.size() == 1 && !use.gradient) {
      std::ranges::copy(terms.begin()->second, std::back_inserter(value.finished));
      return buffers;
    }
    value.runs.push_back(terms.size());
    for (auto& [part, pieces] : terms) value.terms.push_back(std::move(pieces));
    return buffers;
  }

  void add_tasks(const std::vector<std::vector<BufferId>>& buffers) {
    std::string name =
        part_name(draft_, fmt::format("{} {}", op_.name, to_string(phase_.phase)), part_);
    std::int32_t replica = 0;
    for (std::size_t tile = 0; tile < tiles_.size(); ++tile) {
      bool is_again = tile > 0 && tiles_[tile].part == tiles_[tile - 1].part;
      replica = is_again ? replica + 1 : 0;
      Task task{.name = tile_name(name, tile),
                .device = tiles_[tile].device,
                .key = fragment_.keys[tile],
                .position = fragment_.positions[tile],
                .replica = replica};
      for (std::size_t use = 0; use < buffers.size(); ++use)
        task.uses.push_back({buffers[use][tile], phase_.uses[use].access});
      add_task(draft_, op_.name, std::move(task));
    }
  }

  Draft& draft_;
  const Operator& op_;
  const Signature& s_;
  const PhaseSpec& phase_;
  const std::int64_t part_;
  const ValueOfUse& value_of_;
  const PhaseFragment& fragment_;
  const std::vector<Tile>& tiles_;
};

}  // namespace

void expand_phase(Draft& draft, const PhaseOfOperator& expanded, const ValueOfUse& value_of) {
  PhaseExpansion(draft, expanded, value_of).expand();
}

}  // namespace troika
