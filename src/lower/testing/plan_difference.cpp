#include "lower/testing/plan_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace troika {
namespace {

/// Compares two plans piece by piece and keeps the first difference.
class Comparison {
 public:
  Comparison(const ProgramPlan& one, const ProgramPlan& other) : a_(one), b_(other) {}

  std::string run() {
    compare_outlines();
    for (std::size_t at = 0; at < a_.distribution.operators.size(); ++at) compare_operator(at);
    for (std::size_t at = 0; at < a_.distribution.jobs.size(); ++at) compare_job(at);
    for (std::size_t at = 0; at < a_.distribution.values.size(); ++at) compare_value(at);
    expect(a_.distribution.kinds.size() == b_.distribution.kinds.size(), "sets with kinds");
    expect(a_.updates.size() == b_.updates.size(), "count of updates");
    for (std::size_t at = 0; difference_.empty() && at < a_.updates.size(); ++at)
      compare_update(at);
    compare_settled();
    return difference_;
  }

 private:
  void expect(bool equal, const std::string& what) {
    if (!equal && difference_.empty()) difference_ = what;
  }

  void compare_outlines() {
    const Outline &a = a_.distribution.outline, &b = b_.distribution.outline;
    expect(a.jobs.size() == b.jobs.size() && a.values.size() == b.values.size(), "sizes");
    expect(a.staged == b.staged, "staged operators");
    for (std::size_t at = 0; difference_.empty() && at < a.values.size(); ++at) {
      const OutlinedValue &own = a.values[at], &other = b.values[at];
      expect(own.kind == other.kind && own.of == other.of && own.slot == other.slot &&
                 own.writers == other.writers && own.readers == other.readers &&
                 own.slots == other.slots,
             fmt::format("outline of value {}", at));
    }
  }

  bool same_set(TileSetId a, TileSetId b) const {
    const TileSet &own = a_.tables.tiles.set(a), &other = b_.tables.tiles.set(b);
    return own.device == other.device && own.source == other.source && own.first == other.first &&
           own.tiles == other.tiles;
  }
  bool same_ranges(RangesId a, RangesId b) const {
    return a_.tables.tiles.ranges(a) == b_.tables.tiles.ranges(b);
  }
  bool same_kinds(KindsId a, KindsId b) const {
    return a_.tables.tiles.kinds(a) == b_.tables.tiles.kinds(b);
  }

  bool same_cuts(const std::vector<DimCut>& a, const std::vector<DimCut>& b) const {
    return std::ranges::equal(a, b, [&](const DimCut& own, const DimCut& other) {
      return own.digit == other.digit && same_ranges(own.ranges, other.ranges);
    });
  }

  bool same(const Participant& a, const Participant& b) const {
    return same_set(a.set, b.set) && same_cuts(a.cuts, b.cuts) &&
           a.partial_axes == b.partial_axes && a.shared == b.shared;
  }

  void compare_operator(std::size_t at) {
    const OperatorTiles &a = a_.distribution.operators[at], &b = b_.distribution.operators[at];
    bool equal = same_set(a.set, b.set) && a.sample_axis == b.sample_axis &&
                 a.micro_batches == b.micro_batches && a.extents == b.extents &&
                 a.digits == b.digits && a.staged == b.staged;
    for (std::size_t axis = 0; equal && axis < a.parts.size(); ++axis)
      equal = same_ranges(a.parts[axis], b.parts[axis]) && same_kinds(a.kinds[axis], b.kinds[axis]);
    expect(equal, "tiles of operator " + a_.request.graph->operators[at].name);
  }

  void compare_kinds(TileSetId a, TileSetId b, const std::string& what) {
    auto own = a_.distribution.kinds.find(a), other = b_.distribution.kinds.find(b);
    bool known = own != a_.distribution.kinds.end() && other != b_.distribution.kinds.end();
    expect(known &&
               same_kinds(a_.distribution.joined_kinds[as_index(a)],
                          b_.distribution.joined_kinds[as_index(b)]) &&
               own->second.first == other->second.first &&
               own->second.seen.size() == other->second.seen.size(),
           "kinds of " + what);
  }

  void compare_job(std::size_t at) {
    const JobTiles &a = a_.distribution.jobs[at], &b = b_.distribution.jobs[at];
    std::string name = fmt::format("job {}", at);
    auto same_use = [&](const Participant& own, const Participant& other) {
      return same(own, other);
    };
    expect(same_set(a.set, b.set) && same_kinds(a.kinds, b.kinds) && a.roles == b.roles &&
               std::ranges::equal(a.uses, b.uses, same_use),
           name);
    compare_kinds(a.set, b.set, name);
  }

  bool same_moves(const Moves* a, const Moves* b) {
    if (a == nullptr || b == nullptr) return a == b;
    return a == b || known_.contains({a, b}) || (*a == *b && known_.insert({a, b}).second);
  }

  static bool same_groups(const PlaceGroups* a, const PlaceGroups* b) {
    return a == nullptr || b == nullptr ? a == b : *a == *b;
  }

  void compare_value(std::size_t at) {
    const DistributedValue &a = a_.distribution.values[at], &b = b_.distribution.values[at];
    std::string name = fmt::format("value {}", at);
    expect(a.spec == b.spec && same(a.stored, b.stored) && same_groups(a.groups, b.groups) &&
               a.updates == b.updates && a.held == b.held,
           name);
    expect(same_moves(a.spread.moves, b.spread.moves) && same_set(a.spread.set, b.spread.set) &&
               same_cuts(a.spread.cuts, b.spread.cuts) && a.spread.frame == b.spread.frame &&
               a.spread.unit == b.spread.unit && a.spread.scale == b.spread.scale,
           name + "'s spread");
    if (a.stored.shared && difference_.empty()) compare_kinds(a.stored.set, b.stored.set, name);
  }

  void compare_update(std::size_t at) {
    const UpdatePlan &a = a_.updates[at], &b = b_.updates[at];
    bool same_shared =
        a.shared == nullptr || b.shared == nullptr ? a.shared == b.shared : *a.shared == *b.shared;
    expect(a.parameter == b.parameter && a.weight == b.weight && a.gradient == b.gradient &&
               a.rule == b.rule && same_groups(a.groups, b.groups) && a.counted == b.counted &&
               same_shared && a.norms == b.norms && a.waits == b.waits && a.phases == b.phases &&
               a.operands == b.operands,
           fmt::format("update {}", at));
  }

  void compare_settled() {
    expect(a_.units.jobs == b_.units.jobs, "kernels of jobs");
    expect(a_.units.updates == b_.units.updates, "kernels of updates");
    expect(a_.units.stored == b_.units.stored, "how parameters are stored");
    expect(a_.units.borders == b_.units.borders, "how values lie between regions");
    expect(a_.runs_at == b_.runs_at, "where jobs run");
    expect(a_.written == b_.written, "how values lie");
    expect(a_.update_of == b_.update_of && a_.update_moments == b_.update_moments &&
               a_.guard == b_.guard,
           "moments");
    expect(a_.bucket_groups == b_.bucket_groups, "groups of gradients");
    expect(a_.buckets == b_.buckets && a_.bucket_of == b_.bucket_of, "buckets");
  }

  const ProgramPlan &a_, &b_;
  std::set<std::pair<const Moves*, const Moves*>> known_;  // are the same
  std::string difference_;
};

bool lists(const std::vector<std::int32_t>& numbers, std::size_t number) {
  return std::ranges::binary_search(numbers, static_cast<std::int32_t>(number));
}

bool is_same_job(const ProgramPlan& a, const ProgramPlan& b, std::size_t at) {
  const JobTiles &own = a.distribution.jobs[at], &other = b.distribution.jobs[at];
  return own == other &&
         a.distribution.joined_kinds[as_index(own.set)] ==
             b.distribution.joined_kinds[as_index(other.set)] &&
         a.runs_at[at] == b.runs_at[at] && a.written[at] == b.written[at];
}

/// Readers in other regions tell the kinds of tiles of their writers apart.
bool has_same_writers(const ProgramPlan& a, const ProgramPlan& b, std::size_t at) {
  return std::ranges::all_of(a.distribution.outline.values[at].writers, [&](const ValueUse& use) {
    TileSetId set = a.distribution.jobs[as_index(use.job)].set;
    return set == b.distribution.jobs[as_index(use.job)].set &&
           a.distribution.joined_kinds[as_index(set)] == b.distribution.joined_kinds[as_index(set)];
  });
}

bool is_same_value(const ProgramPlan& a, const ProgramPlan& b, std::size_t at) {
  const OutlinedValue &own = a.distribution.outline.values[at],
                      &other = b.distribution.outline.values[at];
  const DistributedValue& distributed = a.distribution.values[at];
  if (distributed != b.distribution.values[at] || own.writers != other.writers ||
      own.readers != other.readers || !has_same_writers(a, b, at))
    return false;
  const Moves* moves = distributed.spread.moves;
  for (std::size_t step = 0; moves != nullptr && step < moves->steps.size(); ++step)
    if (moment_of(a, at, 0, moves->steps[step].moment) !=
        moment_of(b, at, 0, moves->steps[step].moment))
      return false;
  for (std::size_t buffer = 0; moves != nullptr && buffer < moves->buffers.size(); ++buffer)
    if (layout_of(a, at, static_cast<std::int32_t>(buffer)) !=
        layout_of(b, at, static_cast<std::int32_t>(buffer)))
      return false;
  return true;
}

bool is_same_update(const ProgramPlan& a, const ProgramPlan& b, std::size_t at) {
  if (a.updates[at] != b.updates[at] || a.update_moments[at] != b.update_moments[at] ||
      a.bucket_of[at] != b.bucket_of[at])
    return false;
  return std::ranges::all_of(a.bucket_of[at], [&](const BucketPart& part) {
    return part.bucket < 0 || a.buckets.at(part.bucket) == b.buckets.at(part.bucket);
  });
}

}  // namespace

std::string first_difference(const ProgramPlan& one, const ProgramPlan& other) {
  return Comparison(one, other).run();
}

std::string first_untold(const ProgramPlan& before, const ProgramPlan& after,
                         const Touched& touched) {
  for (std::size_t at = 0; at < after.distribution.jobs.size(); ++at)
    if (!lists(touched.jobs, at) && !is_same_job(before, after, at))
      return fmt::format("job {}", at);
  for (std::size_t at = 0; at < after.distribution.values.size(); ++at)
    if (!lists(touched.values, at) && !is_same_value(before, after, at))
      return fmt::format("value {}", at);
  for (std::size_t at = 0; at < after.updates.size(); ++at)
    if (!lists(touched.updates, at) && !is_same_update(before, after, at))
      return fmt::format("update {}", at);
  return {};
}

std::string first_stale_fragment(Planner& planner) {
  Folding& folding = planner.folding();
  const Classes& classes = planner.graph().classes;
  for (std::int32_t at = 0; at < classes.count(); ++at) {
    std::int32_t device = classes.first[as_index(at)];
    DeviceEmitter emitter(planner.program(), folding.movements(), device);
    std::vector<Fragment> fragments = emit_all(emitter, planner.program());
    std::span<const Fragment> kept = folding.fragments_of(at);
    for (std::size_t each = 0; each < fragments.size(); ++each)
      if (kept[each] != fragments[each])
        return fmt::format("fragment {} of device {}", each, device);
  }
  return {};
}

}  // namespace troika
