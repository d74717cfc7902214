#include "lower/plan_hash.h"

#include <map>
#include <type_traits>

#include "base/hash.h"
#include "cost/link_costs.h"

namespace troika {
namespace {

class Hasher {
 public:
  std::uint64_t value() const { return hash_; }

  template <class T>
  requires std::is_integral_v<T> || std::is_enum_v<T> Hasher& add(T word) {
    hash_ = mix(hash_, static_cast<std::uint64_t>(word));
    return *this;
  }
  Hasher& add(std::string_view text) { return add(hash_text(text)); }
  Hasher& add(const std::string& text) { return add(std::string_view(text)); }
  Hasher& add(Range range) { return add(range.begin).add(range.end); }
  Hasher& add(const Moment& moment) { return add(pack(moment.turn).bits).add(moment.lag); }
  Hasher& add(const TensorSpec& spec) { return add_all(spec.shape).add(spec.dtype); }
  Hasher& add(const ValueUse& use) { return add(use.job).add(use.use); }
  Hasher& add(AxisDigit digit) { return add(digit.stride).add(digit.count); }
  Hasher& add(const InPlace& pair) { return add(pair.write).add(pair.read); }
  Hasher& add(const Region& region) { return add_all(region.ranges); }

  template <class List>
  Hasher& add_all(const List& list) {
    add(std::ranges::size(list));
    for (const auto& each : list) add(each);
    return *this;
  }

 private:
  std::uint64_t hash_ = 0;
};

/// Each table once, however many values have it.
class PlanHasher {
 public:
  explicit PlanHasher(const ProgramPlan& plan) : plan_(plan) {}

  std::uint64_t hash() {
    add_request();
    add_machine();
    for (const OperatorTiles& tiles : plan_.distribution.operators) add_operator(tiles);
    for (std::size_t at = 0; at < plan_.distribution.jobs.size(); ++at) add_job(at);
    for (std::size_t at = 0; at < plan_.distribution.values.size(); ++at) add_value(at);
    for (std::size_t at = 0; at < plan_.updates.size(); ++at) add_update(at);
    add_order();
    return made_.value();
  }

 private:
  void add_request() {
    const LowerRequest& request = plan_.request;
    const Sync& sync = request.strategy->sync;
    made_.add(request.name).add_all(request.outputs).add(plan_.micro_batches());
    made_.add(sync.sliced_update).add(sync.overlap).add(sync.carry_updates).add(sync.priorities);
    made_.add(sync.fixed_order).add(sync.algorithms).add_all(sync.message_order);
    if (request.optimizer != nullptr)
      made_.add(request.optimizer->guard_gradient)
          .add(std::bit_cast<std::uint64_t>(request.optimizer->clip_norm));
  }

  void add_machine() {
    for (const DeviceSpec& device : plan_.request.machine->devices)
      made_.add(device.kind).add(device.node).add(device.rank);
    made_.add(plan_.request.links == nullptr ? "" : to_json(*plan_.request.links));
  }

  std::uint64_t hash_of(TileSetId id) {
    auto [known, is_new] = sets_.try_emplace(id);
    if (is_new) {
      const TileSet& set = plan_.tables.tiles.set(id);
      known->second = Hasher().add_all(set.device).add_all(set.source).value();
    }
    return known->second;
  }

  void add_kinds(TileSetId set) {
    made_.add_all(plan_.distribution.kinds_of(set).first);
    KindsId kinds = plan_.distribution.joined_kinds[as_index(set)];
    auto [known, is_new] = kinds_.try_emplace(kinds);
    if (is_new) known->second = Hasher().add_all(plan_.tables.tiles.kinds(kinds)).value();
    made_.add(known->second);
  }

  std::uint64_t hash_of_ranges(RangesId id) {
    auto [known, is_new] = ranges_.try_emplace(id);
    if (is_new) known->second = Hasher().add_all(plan_.tables.tiles.ranges(id)).value();
    return known->second;
  }

  void add_operator(const OperatorTiles& tiles) {
    made_.add(hash_of(tiles.set)).add(tiles.sample_axis).add(tiles.staged);
    made_.add_all(tiles.extents).add_all(tiles.digits);
    for (RangesId parts : tiles.parts) made_.add(hash_of_ranges(parts));
  }

  void add_participant(const Participant& own) {
    made_.add(hash_of(own.set)).add(own.shared).add_all(own.partial_axes);
    for (const DimCut& cut : own.cuts) made_.add(cut.digit).add(hash_of_ranges(cut.ranges));
  }

  void add_job(std::size_t at) {
    const Job& job = plan_.distribution.outline.jobs[at];
    const JobTiles& tiles = plan_.distribution.jobs[at];
    made_.add(job.op).add(job.phase->phase).add(job.backward).add_all(job.values);
    add_kinds(tiles.set);
    for (const Participant& use : tiles.uses) add_participant(use);
    for (const KernelUnit& unit : plan_.units.jobs[at]) add_unit(unit);
  }

  void add_unit(const KernelUnit& unit) {
    made_.add(unit.is_fused_away);
    if (unit.is_fused_away) return;
    made_.add(troika::hash(unit.key)).add(unit.choice.algorithm).add_all(unit.choice.layouts);
    made_.add(unit.choice.scratch.count).add_all(unit.in_place).add_all(unit.operands);
  }

  void add_value(std::size_t at) {
    const DistributedValue& value = plan_.distribution.values[at];
    const OutlinedValue& outlined = plan_.distribution.outline.values[at];
    made_.add(outlined.kind).add(outlined.of).add(outlined.slot).add(value.spec);
    made_.add(value.updates).add(value.held);
    if (value.stored.shared) {
      add_participant(value.stored);
      made_.add_all(plan_.units.stored[at]);
    }
    if (value.spread.moves == nullptr) return;
    made_.add_all(value.spread.frame)
        .add_all(value.spread.unit)
        .add(value.spread.scale)
        .add(hash_of(*value.spread.moves));
  }

  std::uint64_t hash_of(const Moves& moves) {
    auto [known, is_new] = moves_.try_emplace(&moves);
    if (is_new) known->second = make_hash(moves);
    return known->second;
  }

  static std::uint64_t make_hash(const Moves& moves) {
    Hasher made;
    for (const Box& box : moves.boxes) made.add_all(box.begin).add_all(box.end);
    for (const PlacedBuffer& buffer : moves.buffers)
      made.add(buffer.kind)
          .add(buffer.device)
          .add(buffer.box)
          .add(buffer.origin)
          .add(buffer.tile)
          .add(buffer.offset)
          .add(buffer.elements);
    for (const Step& step : moves.steps)
      made.add(step.kind)
          .add(step.device)
          .add(step.moment)
          .add(step.out)
          .add(step.first_input)
          .add(step.input_count)
          .add(step.message)
          .add(step.member);
    for (const StepInput& input : moves.inputs) made.add(input.buffer).add(input.box);
    for (const Message& message : moves.messages)
      made.add(message.kind)
          .add(message.first_member)
          .add(message.members)
          .add(message.elements)
          .add(message.first_range)
          .add(message.start)
          .add(message.finish);
    for (const MessageMember& member : moves.members) made.add(member.device).add(member.buffer);
    made.add_all(moves.ranges).add_all(moves.level);
    for (const std::vector<std::int32_t>& reads : moves.reads) made.add_all(reads);
    return made.value();
  }

  void add_update(std::size_t at) {
    const UpdatePlan& update = plan_.updates[at];
    made_.add(update.parameter).add(update.norms).add(update.waits).add_all(update.phases);
    made_.add(plan_.update_moments[at]);
    for (const std::vector<Region>& boxes : update.counted) made_.add_all(boxes);
    for (const std::vector<KernelUnit>& phases : plan_.units.updates[at])
      for (const KernelUnit& unit : phases) add_unit(unit);
    if (update.shared != nullptr) made_.add(hash_of(*update.shared));
  }

  std::uint64_t hash_of(const SharedUpdates& shared) {
    auto [known, is_new] = shared_.try_emplace(&shared);
    if (!is_new) return known->second;
    Hasher made;
    for (const SharedUpdate& place : shared.places)
      made.add(place.owners).add(place.owner).add(place.message);
    return known->second = made.value();
  }

  void add_order() {
    made_.add_all(plan_.runs_at).add(plan_.guard);
    for (const auto& [number, bucket] : plan_.buckets) {
      made_.add(number)
          .add(bucket.parts.size())
          .add(bucket.bytes.count)
          .add(bucket.start)
          .add(bucket.finish);
      for (const GradientBucket::Part& part : bucket.parts)
        made_.add(part.update).add(part.message).add(part.offset.count);
    }
  }

  const ProgramPlan& plan_;
  Hasher made_;
  std::map<TileSetId, std::uint64_t> sets_;
  std::map<KindsId, std::uint64_t> kinds_;
  std::map<RangesId, std::uint64_t> ranges_;
  std::map<const Moves*, std::uint64_t> moves_;
  std::map<const SharedUpdates*, std::uint64_t> shared_;
};

}  // namespace

std::uint64_t hash(const ProgramPlan& plan) { return PlanHasher(plan).hash(); }

}  // namespace troika
