// Devices told apart by the machine around them and by what they have in common with others.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "lower/device_comparison.h"
#include "lower/planned_device.h"

namespace troika {
namespace {

/// How many devices store what this one updates, part by part, and how many of them share the
/// update. Empty where that makes no difference.
std::vector<std::int32_t> copies_of_update(const DevicePair& pair, const UpdatePlan& update,
                                           std::int32_t device) {
  bool counts = update.shared != nullptr || update.is_staged() ||
                pair.plan.request.optimizer->watches_gradient();
  if (!counts) return {};
  std::vector<std::int32_t> copies;
  TileSetId set = pair.plan.distribution.values[as_index(update.weight)].stored.set;
  for (std::int32_t place : PlannedDevice(pair.plan, device).tiles_here(set)) {
    copies.push_back(update.groups->copies[as_index(update.groups->region[as_index(place)])]);
    if (update.shared != nullptr) copies.push_back(update.shared->places[as_index(place)].owners);
  }
  return copies;
}

Difference compare_updates(const DevicePair& pair) {
  for (const UpdatePlan& update : pair.plan.updates) {
    std::vector<std::int32_t> here = copies_of_update(pair, update, pair.here);
    std::vector<std::int32_t> before = copies_of_update(pair, update, pair.before);
    auto [own, other] = std::ranges::mismatch(here, before);
    if (own == here.end() || other == before.end()) continue;
    return fmt::format("its part of {} is on {} instead of {}",
                       noun_of(pair.plan, as_index(update.weight)), counted_noun(*own, "device"),
                       *other);
  }
  return {};
}

/// The shapes of the boxes that this device counts for norms over the whole parameter.
std::vector<Shape> counted_shapes(const ProgramPlan& plan, std::size_t update,
                                  std::int32_t device) {
  std::vector<Shape> shapes;
  PlannedDevice here(plan, device);
  TileSetId set = plan.distribution.values[as_index(plan.updates[update].weight)].stored.set;
  for (std::int32_t place = 0; place < std::ssize(here.tiles_here(set)); ++place)
    for (const Region& box : here.counted(update, place)) shapes.push_back(box.shape());
  return shapes;
}

Difference compare_counted(const DevicePair& pair) {
  for (std::size_t at = 0; at < pair.plan.updates.size(); ++at) {
    const UpdatePlan& update = pair.plan.updates[at];
    if (!update.counted.empty() &&
        counted_shapes(pair.plan, at, pair.here) != counted_shapes(pair.plan, at, pair.before))
      return fmt::format("counts another part of {} for norms",
                         noun_of(pair.plan, as_index(update.weight)));
  }
  return {};
}

/// By sum over the batch: how many tiles have the term of this device's tiles.
std::map<std::size_t, std::int64_t> copies_of_terms(const ProgramPlan& plan, std::int32_t device) {
  std::map<std::size_t, std::int64_t> copies;
  const Distribution& all = plan.distribution;
  for (std::size_t at = 0; at < all.values.size(); ++at) {
    if (all.outline.values[at].writers.empty() || !is_total(all.values[at].spec)) continue;
    const ValueUse& use = all.outline.values[at].writers[0];
    const JobTiles& tiles = all.jobs[as_index(use.job)];
    for (std::int32_t tile : PlannedDevice(plan, device).tiles_here(tiles.set))
      copies[at] +=
          plan.tables.tiles.copies_of(tiles.set, tiles.uses[as_index(use.use)].partial_axes, tile);
  }
  return copies;
}

Difference compare_totals(const DevicePair& pair) {
  std::map<std::size_t, std::int64_t> before = copies_of_terms(pair.plan, pair.before);
  for (const auto& [value, copies] : copies_of_terms(pair.plan, pair.here))
    if (copies != before[value])
      return fmt::format("its terms of {} are computed {} times instead of {}",
                         noun_of(pair.plan, value), copies, before[value]);
  return {};
}

bool is_in_bucket(const ProgramPlan& plan, const GradientBucket& bucket, std::int32_t device) {
  const GradientBucket::Part& part = bucket.parts[0];
  const UpdatePlan& update = plan.updates[as_index(part.update)];
  const Moves& moves = *plan.distribution.values[as_index(update.gradient)].spread.moves;
  const Message& message = moves.messages[as_index(part.message)];
  auto first = moves.members.begin() + message.first_member;
  return std::any_of(first, first + message.members,
                     [&](const MessageMember& member) { return member.device == device; });
}

/// The updates whose gradients a device sends together, bucket by bucket.
std::set<std::vector<std::int32_t>> buckets_of(const ProgramPlan& plan, std::int32_t device) {
  std::set<std::vector<std::int32_t>> found;
  for (const auto& [number, bucket] : plan.buckets) {
    if (bucket.parts.size() < 2 || !is_in_bucket(plan, bucket, device)) continue;
    std::vector<std::int32_t> updates;
    for (const GradientBucket::Part& part : bucket.parts) updates.push_back(part.update);
    found.insert(std::move(updates));
  }
  return found;
}

Difference compare_buckets(const DevicePair& pair) {
  auto here = buckets_of(pair.plan, pair.here), before = buckets_of(pair.plan, pair.before);
  auto explain = [&](const char* verb, const std::vector<std::int32_t>& updates) {
    const UpdatePlan& first = pair.plan.updates[as_index(updates[0])];
    return fmt::format("{} a bucket of {} gradients from that of {} on", verb, updates.size(),
                       noun_of(pair.plan, as_index(first.weight)));
  };
  for (const std::vector<std::int32_t>& updates : here)
    if (!before.contains(updates)) return explain("sends", updates);
  for (const std::vector<std::int32_t>& updates : before)
    if (!here.contains(updates)) return explain("does not send", updates);
  return {};
}

}  // namespace

Difference compare_hardware(const DevicePair& pair) {
  const DeviceSpec &here = pair.spec(pair.here), &before = pair.spec(pair.before);
  if (here.kind != before.kind) return "another kind of device";
  if (here.memory != before.memory)
    return fmt::format("{} of memory instead of {}", to_string(here.memory),
                       to_string(before.memory));
  if (here.flops_per_second != before.flops_per_second ||
      here.bytes_per_second != before.bytes_per_second || here.slowdown != before.slowdown)
    return "a device of another speed";
  return {};
}

Difference compare_shares(const DevicePair& pair) {
  if (Difference found = compare_updates(pair)) return found;
  if (Difference found = compare_counted(pair)) return found;
  if (Difference found = compare_totals(pair)) return found;
  return compare_buckets(pair);
}

Difference compare_nodes(const DevicePair& pair) {
  auto compare = [&](std::int32_t DeviceSpec::*group, const char* name) -> Difference {
    auto size = [&](std::int32_t device) {
      return std::ranges::count(pair.plan.request.machine->devices, pair.spec(device).*group,
                                group);
    };
    if (size(pair.here) == size(pair.before)) return {};
    return fmt::format("its {} has {} instead of {}", name, counted_noun(size(pair.here), "device"),
                       size(pair.before));
  };
  if (Difference found = compare(&DeviceSpec::node, "node")) return found;
  return compare(&DeviceSpec::rank, "process");
}

Difference compare_links(const DevicePair& pair) {
  auto speeds = [&](std::int32_t device) {
    std::vector<std::tuple<double, SimTime, SimTime>> found;
    for (const Link& link : pair.plan.request.machine->links)
      if (link.a == device || link.b == device)
        found.emplace_back(link.speed.bytes_per_second, link.speed.latency,
                           overhead_of(link.speed));
    std::ranges::sort(found);
    return found;
  };
  if (speeds(pair.here) != speeds(pair.before)) return "its links have another speed";
  return {};
}

Difference compare_neighbours(const DevicePair& pair) {
  // Devices of one node see each other, so they see different neighbours without differing.
  if (pair.spec(pair.here).node == pair.spec(pair.before).node) return {};
  auto classes = [&](std::int32_t device) {
    std::set<std::int32_t> found;
    for (DeviceId other : devices_of_node(*pair.plan.request.machine, pair.spec(device).node))
      if (other.value != device) found.insert(pair.classes.of_device[other.index()]);
    return found;
  };
  std::set<std::int32_t> here = classes(pair.here), before = classes(pair.before);
  if (here == before) return {};
  return fmt::format("shares its node with class {} instead of {}", fmt::join(here, ", "),
                     fmt::join(before, ", "));
}

}  // namespace troika
