#include "lower/plan_classes.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/hash.h"
#include "cost/message_phases.h"

namespace troika {
namespace {

std::uint64_t word(std::int64_t number) { return static_cast<std::uint64_t>(number); }

/// The constant keeps a list of zeros apart from an empty one.
void note(std::uint64_t& hash, std::initializer_list<std::int64_t> numbers) {
  for (std::int64_t number : numbers) hash = mix(hash, word(number) + 0x9e3779b97f4a7c15u);
}

/// Describes a redistribution, device by device and message by message.
class MovesAspect {
 public:
  MovesAspect(const Moves& moves, const Network& network)
      : moves_(moves),
        network_(network),
        machine_(network.machine()),
        dims_(used_dims(moves.boxes)) {}

  Aspect describe() {
    made_.own.assign(machine_.devices.size(), 0);
    for (const PlacedBuffer& buffer : moves_.buffers) note_buffer(buffer);
    for (std::size_t at = 0; at < moves_.steps.size(); ++at) note_step(at);
    note_reads();
    note_messages();
    return std::move(made_);
  }

 private:
  /// Unused dimensions of a box are zero; most redistributions cut one or two of eight.
  static std::size_t used_dims(const std::vector<Box>& boxes) {
    std::size_t dims = 0;
    for (const Box& box : boxes)
      while (dims < kMaxRank &&
             std::any_of(box.end.begin() + dims, box.end.end(), [](auto end) { return end != 0; }))
        ++dims;
    return dims;
  }

  std::uint64_t& own(std::int32_t device) { return made_.own[as_index(device)]; }
  const Box& box(std::int32_t at) const { return moves_.boxes[as_index(at)]; }
  std::int32_t local(std::int32_t buffer) const {
    return buffer - moves_.first_buffer[as_index(moves_.buffers[as_index(buffer)].device)];
  }

  void note_extents(std::uint64_t& hash, std::int32_t at) const {
    if (at < 0) return;
    for (std::size_t dim = 0; dim < dims_; ++dim)
      note(hash, {box(at).end[dim] - box(at).begin[dim]});
  }

  // A block's offset in its vector is a position.
  void note_buffer(const PlacedBuffer& buffer) {
    using enum PlacedBuffer::Kind;
    std::uint64_t& hash = own(buffer.device);
    std::int32_t origin = buffer.kind == block ? local(buffer.origin) : buffer.origin;
    note(hash, {static_cast<int>(buffer.kind), origin, buffer.elements});
    note_extents(hash, buffer.box);
  }

  void note_step(std::size_t at) {
    const Step& step = moves_.steps[at];
    std::uint64_t& hash = own(step.device);
    note(hash, {static_cast<int>(step.kind), step.moment, local(step.out), moves_.level[at],
                step.layered});
    std::int32_t out = moves_.buffers[as_index(step.out)].box;
    for (std::int32_t input = 0; input < step.input_count; ++input) {
      const StepInput& from = moves_.inputs[as_index(step.first_input + input)];
      note(hash, {local(from.buffer)});
      if (step.kind != Step::Kind::assemble) continue;
      note_extents(hash, from.box);
      for (std::size_t dim = 0; dim < dims_ && !step.layered; ++dim)
        note(hash, {box(from.box).begin[dim] - box(out).begin[dim]});
    }
    if (step.message < 0) return;
    const Message& message = moves_.messages[as_index(step.message)];
    if (message.kind == Collective::broadcast) note(hash, {step.member == 0});
    if (message.first_range >= 0)
      note(hash, {moves_.ranges[as_index(message.first_range + step.member)].extent()});
  }

  void note_reads() {
    for (std::size_t role = 0; role < moves_.reads.size(); ++role)
      for (std::int32_t buffer : moves_.reads[role])
        note(own(moves_.buffers[as_index(buffer)].device),
             {static_cast<std::int64_t>(role), local(buffer)});
  }

  void note_messages() {
    std::map<std::uint64_t, std::size_t> known;
    for (const Message& message : moves_.messages) {
      std::uint64_t shape = shape_of(message);
      auto [found, is_new] = known.try_emplace(shape, made_.exchanges.size());
      if (is_new) made_.exchanges.push_back({.shape = shape});
      Exchanges& exchanges = made_.exchanges[found->second];
      for (std::int32_t at = message.first_member; at < message.first_member + message.members;
           ++at)
        // What a link carries depends on the side on which the root is.
        exchanges.members.push_back(
            {moves_.members[as_index(at)].device,
             2 * moves_.part[as_index(at)] +
                 (is_rooted(message.kind) && at == message.first_member ? 1 : 0)});
      exchanges.ends.push_back(static_cast<std::int32_t>(exchanges.members.size()));
    }
  }

  /// The time of a message depends on which of its members share nodes, processes and links, in
  /// their order, but not on which nodes these are.
  std::uint64_t shape_of(const Message& message) {
    std::uint64_t hash = 0;
    note(hash, {static_cast<int>(message.kind), message.elements, message.members, message.start,
                message.finish});
    ++message_, nodes_.count = processes_.count = hubs_.count = 0;
    for (std::int32_t at = message.first_member; at < message.first_member + message.members;
         ++at) {
      const DeviceSpec& device = machine_.devices[as_index(moves_.members[as_index(at)].device)];
      note(hash, {number(nodes_, device.node), number(processes_, device.rank)});
    }
    if (nodes_.count > 1 && network_.tree()) note_routes(hash, message);
    return hash;
  }

  /// The part of the tree that joins the members, followed from each of them to the next.
  void note_routes(std::uint64_t& hash, const Message& message) {
    for (std::int32_t at = message.first_member + 1; at < message.first_member + message.members;
         ++at)
      note_route(hash, moves_.members[as_index(at - 1)].device,
                 moves_.members[as_index(at)].device);
  }

  void note_route(std::uint64_t& hash, std::int32_t from, std::int32_t to) {
    const LinkTree& tree = *network_.tree();
    auto note_hop = [&](std::int32_t link, std::int32_t end) {
      bool is_device = as_index(end) < machine_.devices.size();
      note(hash, {network_.speed_of(link), is_device ? -1 : number(hubs_, end)});
    };
    down_.clear();
    while (from != to) {
      bool climbs = tree.depth[as_index(from)] > tree.depth[as_index(to)];
      std::int32_t& end = climbs ? from : to;
      std::int32_t link = tree.link[as_index(end)];
      if (!climbs) down_.emplace_back(link, end);
      end = tree.parent[as_index(end)];
      if (climbs) note_hop(link, end);
    }
    for (auto hop = down_.rbegin(); hop != down_.rend(); ++hop) note_hop(hop->first, hop->second);
  }

  /// The nodes, processes, or hubs of a message in the order in which it meets them.
  struct Numbering {
    struct Entry {
      std::int64_t message = -1, number = 0;
    };
    std::vector<Entry> entries{};  // by node, process, or endpoint
    std::int64_t count = 0;        // those of the message
  };
  std::int64_t number(Numbering& numbering, std::int32_t of) const {
    if (numbering.entries.size() <= as_index(of)) numbering.entries.resize(as_index(of) + 1);
    Numbering::Entry& entry = numbering.entries[as_index(of)];
    if (entry.message != message_) entry = {message_, numbering.count++};
    return entry.number;
  }

  const Moves& moves_;
  const Network& network_;
  const Machine& machine_;
  const std::size_t dims_;
  Aspect made_;
  std::int64_t message_ = -1;  // the number of the one that is described
  Numbering nodes_, processes_, hubs_;
  std::vector<std::pair<std::int32_t, std::int32_t>> down_;  // links and ends, backwards
};

/// Facts that are particular to a plan.
class PlanAspects {
 public:
  PlanAspects(const ProgramPlan& plan, AspectTable& known)
      : plan_(plan),
        known_(known),
        machine_(known.network().machine()),
        own_(machine_.devices.size()) {}

  Partition find() {
    for (const auto& [set, kinds] : plan_.distribution.kinds)
      add(known_.of_tiles(plan_.tables.tiles, set, plan_.distribution.joined_kinds[as_index(set)]));
    // Much quicker, and usual where operators are placed at random.
    if (differ_alone(machine_, aspects_)) return one_class_each(machine_);
    for (const Moves* moves : moves_of_values()) add(known_.of_moves(*moves));
    note_totals();
    note_updates();
    note_buckets();
    Aspect rest{.own = std::move(own_)};
    join_all(rest);
    aspects_.push_back(&rest);
    return troika::find_partition(machine_, aspects_);
  }

 private:
  void add(const KnownAspect& aspect) {
    has_pattern_.resize(std::max(has_pattern_.size(), known_.pattern_count()));
    auto is_new = [&](std::int32_t pattern) {
      return pattern > 0 && !std::exchange(has_pattern_[as_index(pattern)], 1);
    };
    if (is_new(aspect.alone_pattern)) aspects_.push_back(&aspect.alone);
    if (is_new(aspect.together_pattern)) aspects_.push_back(&aspect.together);
  }

  /// Each once.
  std::vector<const Moves*> moves_of_values() const {
    std::vector<const Moves*> all;
    for (const DistributedValue& value : plan_.distribution.values)
      if (value.spread.moves != nullptr) all.push_back(value.spread.moves);
    std::ranges::sort(all);
    auto [first, last] = std::ranges::unique(all);
    all.erase(first, last);
    return all;
  }

  const TileSet& set(TileSetId id) const { return plan_.tables.tiles.set(id); }
  std::uint64_t& own_of(TileSetId id, std::int32_t tile) {
    return own_[as_index(set(id).device[as_index(tile)])];
  }

  /// Sums over the batch, of which several tiles may have the same term.
  void note_totals() {
    std::set<std::pair<TileSetId, std::vector<std::pair<int, int>>>> seen;
    const Outline& outline = plan_.distribution.outline;
    for (std::size_t at = 0; at < outline.values.size(); ++at) {
      if (outline.values[at].writers.empty() || !is_total(plan_.distribution.values[at].spec))
        continue;
      const ValueUse& use = outline.values[at].writers[0];
      const JobTiles& tiles = plan_.distribution.jobs[as_index(use.job)];
      const std::vector<AxisDigit>& axes = tiles.uses[as_index(use.use)].partial_axes;
      std::vector<std::pair<int, int>> key;
      for (AxisDigit axis : axes) key.emplace_back(axis.stride, axis.count);
      if (!seen.insert({tiles.set, std::move(key)}).second) continue;
      for (std::int32_t tile = 0; tile < set(tiles.set).count(); ++tile)
        note(own_of(tiles.set, tile), {plan_.tables.tiles.copies_of(tiles.set, axes, tile)});
    }
  }

  /// How many others store the same, where it matters.
  void note_updates() {
    std::set<std::tuple<TileSetId, const PlaceGroups*, const SharedUpdates*>> seen;
    for (const UpdatePlan& update : plan_.updates) {
      const DistributedValue& weight = plan_.distribution.values[as_index(update.weight)];
      bool counts = update.shared != nullptr || update.is_staged() ||
                    plan_.request.optimizer->watches_gradient();
      bool is_new = seen.insert({weight.stored.set, update.groups, update.shared}).second;
      if (!counts || (!is_new && update.counted.empty())) continue;
      for (std::int32_t place = 0; place < set(weight.stored.set).count(); ++place) {
        auto region = as_index(update.groups->region[as_index(place)]);
        std::uint64_t& hash = own_of(weight.stored.set, place);
        note(hash, {update.groups->copies[region]});
        if (update.shared != nullptr) note(hash, {update.shared->places[as_index(place)].owners});
        if (!update.counted.empty()) note_boxes(hash, update.counted[region]);
      }
    }
  }

  static void note_boxes(std::uint64_t& hash, const std::vector<Region>& boxes) {
    note(hash, {std::ssize(boxes)});
    for (const Region& box : boxes)
      for (const Range& range : box.ranges) note(hash, {range.extent()});
  }

  void note_buckets() {
    for (const auto& [number, bucket] : plan_.buckets) {
      if (bucket.parts.size() < 2) continue;
      std::uint64_t of_parts = 1;
      for (const GradientBucket::Part& part : bucket.parts) note(of_parts, {part.update});
      const UpdatePlan& update = plan_.updates[as_index(bucket.parts[0].update)];
      const Moves& moves = *plan_.distribution.values[as_index(update.gradient)].spread.moves;
      const Message& message = moves.messages[as_index(bucket.parts[0].message)];
      for (std::int32_t member = 0; member < message.members; ++member) {
        std::int32_t device = moves.members[as_index(message.first_member + member)].device;
        own_[as_index(device)] = mix(own_[as_index(device)], of_parts);
      }
    }
  }

  /// The loss, or an output, is added up over all devices.
  void join_all(Aspect& aspect) const {
    if (!plan_.has_peers()) return;
    Exchanges& all = aspect.exchanges.emplace_back();
    for (std::size_t device = 0; device < plan_.request.machine->devices.size(); ++device)
      all.members.push_back({static_cast<std::int32_t>(device), 0});
    all.ends.push_back(static_cast<std::int32_t>(all.members.size()));
  }

  const ProgramPlan& plan_;
  AspectTable& known_;
  const Machine& machine_;
  std::vector<std::uint64_t> own_;
  std::vector<const Aspect*> aspects_;
  std::vector<char> has_pattern_;  // by pattern: one of the aspects has it
};

/// Which devices do the same. Nothing if all do.
Colour pattern_alone(const std::vector<std::uint64_t>& own) {
  if (own.empty() || std::ranges::count(own, own[0]) == std::ssize(own)) return {};
  std::unordered_map<std::uint64_t, std::uint64_t> numbers;
  Colour pattern{};
  for (std::uint64_t each : own)
    pattern = mix(pattern, numbers.try_emplace(each, numbers.size()).first->second);
  return mix(pattern, 1);
}

/// Who takes part in which communications, and which of these are of one shape. Nothing if there
/// are none.
Colour pattern_together(const std::vector<Exchanges>& exchanges) {
  if (exchanges.empty()) return {};
  Colour pattern{};
  for (const Exchanges& each : exchanges) {
    pattern = mix(mix(pattern, each.members.size()), each.ends.size());
    for (const Membership& member : each.members)
      pattern = mix(mix(pattern, word(member.device)), word(member.part));
    for (std::int32_t end : each.ends) pattern = mix(pattern, word(end));
  }
  return mix(pattern, 2);
}

}  // namespace

std::int32_t AspectTable::number_of(Colour pattern) {
  if (pattern == Colour{}) return 0;
  auto next = static_cast<std::int32_t>(patterns_.size()) + 1;
  return patterns_.try_emplace({pattern.low, pattern.high}, next).first->second;
}

KnownAspect AspectTable::known(Aspect aspect) {
  KnownAspect made{.alone_pattern = number_of(pattern_alone(aspect.own)),
                   .together_pattern = number_of(pattern_together(aspect.exchanges))};
  made.alone.own = std::move(aspect.own);
  made.together.exchanges = std::move(aspect.exchanges);
  return made;
}

const KnownAspect& AspectTable::of_tiles(const TileTables& tables, TileSetId id, KindsId kinds) {
  auto [known, is_new] = tiles_.try_emplace({id, kinds});
  if (is_new) {
    Aspect made{.own = std::vector<std::uint64_t>(network_.machine().devices.size())};
    const TileSet& set = tables.set(id);
    for (std::int32_t tile = 0; tile < set.count(); ++tile)
      note(made.own[as_index(set.device[as_index(tile)])], {tables.kind(kinds, tile)});
    known->second = std::make_unique<const KnownAspect>(this->known(std::move(made)));
  }
  return *known->second;
}

const KnownAspect& AspectTable::of_moves(const Moves& moves) {
  auto [known, is_new] = moves_.try_emplace(&moves);
  if (is_new)
    known->second =
        std::make_unique<const KnownAspect>(this->known(MovesAspect(moves, network_).describe()));
  return *known->second;
}

Partition find_partition(const ProgramPlan& plan, AspectTable& known) {
  return PlanAspects(plan, known).find();
}

}  // namespace troika
