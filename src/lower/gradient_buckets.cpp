#include "lower/gradient_buckets.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

#include "base/error.h"
#include "lower/place_buffers.h"

namespace troika {
namespace {

/// By update: the place of its parameter's group in the strategy's list, or -1.
std::vector<std::int32_t> listed_groups(const ProgramPlan& plan) {
  const std::vector<std::vector<std::string>>& buckets = plan.request.strategy->sync.buckets;
  std::map<std::string_view, std::int32_t> group_of;
  for (std::size_t at = 0; at < buckets.size(); ++at)
    for (const std::string& name : buckets[at]) group_of[name] = static_cast<std::int32_t>(at);
  std::vector<std::int32_t> groups;
  for (const UpdatePlan& update : plan.updates) {
    auto found = group_of.find(plan.request.graph->parameters[as_index(update.parameter)].name);
    groups.push_back(found == group_of.end() ? -1 : found->second);
  }
  return groups;
}

/// Backward takes operators in reverse: the first one that uses a parameter is the last to add to
/// its gradient. Where operators are fused does not count, nor do the phases that they run, so that
/// groups do not depend on how operators are split.
std::int32_t last_operator(const ProgramPlan& plan, const UpdatePlan& update) {
  const Outline& outline = plan.distribution.outline;
  std::int32_t last = std::numeric_limits<std::int32_t>::max();
  for (const ValueUse& use : outline.values[as_index(update.gradient)].uses)
    last = std::min(last, outline.jobs[as_index(use.job)].op);
  return last;
}

/// Groups of parameters that are not listed hold up to the strategy's size. Whole parameters count,
/// so that groups do not depend on how these are split. Groups come in the order of their first
/// updates, so that the order of the strategy's list does not matter.
std::vector<UpdateGroup> groups_of(const ProgramPlan& plan) {
  std::vector<std::int32_t> listed = listed_groups(plan);
  UpdateGroup order(plan.updates.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::int32_t at) {
    return last_operator(plan, plan.updates[as_index(at)]);
  });
  std::vector<UpdateGroup> groups;
  std::map<std::int32_t, std::size_t> place_of;  // by listed group; others count down from -1
  std::int32_t open = -1;
  Bytes bytes;  // of the open group
  for (std::int32_t at : order) {
    std::int32_t group = listed[as_index(at)];
    if (group < 0) {
      auto parameter = as_index(plan.updates[as_index(at)].parameter);
      Bytes own = aligned(plan.request.graph->parameters[parameter].spec.bytes());
      if (bytes.count > 0 && bytes + own > plan.request.strategy->sync.bucket) {
        --open;
        bytes = {};
      }
      bytes += own;
      group = open;
    }
    auto [place, is_new] = place_of.try_emplace(group, groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].push_back(at);
  }
  return groups;
}

/// Of a message that sums a gradient: the buffer of any member, as it lies.
Bytes gradient_bytes(const ProgramPlan& plan, std::size_t update, const Message& message) {
  auto value = as_index(plan.updates[update].gradient);
  const DistributedValue& gradient = plan.distribution.values[value];
  const Moves& moves = *gradient.spread.moves;
  std::int32_t buffer = moves.members[as_index(message.first_member)].buffer;
  return stored_bytes(layout_of(plan, value, buffer), shape_of(gradient, buffer),
                      gradient.spec.dtype);
}

/// A sum of a gradient that may travel with others: whole, in place, for the update alone.
bool can_join(const ProgramPlan& plan, const UpdatePlan& update, const Message& message) {
  const DistributedValue& gradient = plan.distribution.values[as_index(update.gradient)];
  auto contributions = static_cast<std::int32_t>(gradient.spread.moves->contributions);
  return update.shared == nullptr && message.kind == Collective::all_reduce &&
         message.finish == contributions + gradient.updates;
}

/// Messages that can be one: between the same devices, of one element type, for updates of one lag.
/// With others, the next step would write the bucket again before the last of these has read it.
using BucketKey = std::tuple<std::vector<std::int32_t>, DType, std::int32_t>;
struct OpenBuckets {
  std::int32_t next = 0;  ///< Number of the next one.
  std::map<BucketKey, std::int32_t> known{};
};

void join_bucket(ProgramPlan& plan, std::size_t update, std::size_t index, OpenBuckets& open) {
  auto value = as_index(plan.updates[update].gradient);
  const DistributedValue& gradient = plan.distribution.values[value];
  const Moves& moves = *gradient.spread.moves;
  const Message& message = moves.messages[index];
  Moment start = moment_of(plan, value, 0, message.start);
  Moment finish = moment_of(plan, value, 0, message.finish);
  std::vector<std::int32_t> devices;
  for (std::int32_t member = 0; member < message.members; ++member)
    devices.push_back(moves.members[as_index(message.first_member + member)].device);
  auto [found, is_new] = open.known.try_emplace(
      {std::move(devices), gradient.spec.dtype, plan.update_moments[update].lag}, open.next);
  if (is_new) plan.buckets[open.next++] = {.start = start, .finish = finish};
  GradientBucket& bucket = plan.buckets[found->second];
  plan.bucket_of[update][index] = {found->second, static_cast<std::int32_t>(bucket.parts.size())};
  bucket.parts.push_back(
      {static_cast<std::int32_t>(update), static_cast<std::int32_t>(index), bucket.bytes});
  bucket.bytes += aligned(gradient_bytes(plan, update, message));
  if (pack(bucket.start.turn) < pack(start.turn)) bucket.start = start;
  if (pack(finish.turn) < pack(bucket.finish.turn)) bucket.finish = finish;
}

std::span<const Message> messages_of(const ProgramPlan& plan, std::size_t update) {
  const Moves* moves =
      plan.distribution.values[as_index(plan.updates[update].gradient)].spread.moves;
  return moves == nullptr ? std::span<const Message>{} : moves->messages;
}

/// The buckets of a group.
using Buckets = std::map<std::int32_t, GradientBucket>;

/// Takes the buckets of a group out of the plan.
Buckets take_buckets(ProgramPlan& plan, std::int32_t group) {
  Buckets taken;
  auto first = plan.buckets.lower_bound(first_bucket(group));
  auto last = plan.buckets.lower_bound(first_bucket(group + 1));
  while (first != last) taken.insert(plan.buckets.extract(first++));
  return taken;
}

/// Returns whether the buckets differ from before.
bool plan_group(ProgramPlan& plan, std::int32_t group) {
  Buckets before = take_buckets(plan, group);
  OpenBuckets open{.next = first_bucket(group)};
  for (std::int32_t each : plan.bucket_groups[as_index(group)]) {
    auto at = as_index(each);
    std::span<const Message> messages = messages_of(plan, at);
    plan.bucket_of[at].assign(messages.size(), {});
    for (std::size_t index = 0; index < messages.size(); ++index)
      if (can_join(plan, plan.updates[at], messages[index])) join_bucket(plan, at, index, open);
  }
  TROIKA_CHECK(open.next <= first_bucket(group + 1), "a group of gradients in too many buckets");
  // One gradient alone travels as it is.
  auto is_alone = [&](const BucketPart& part) {
    return part.bucket >= 0 && plan.buckets.at(part.bucket).parts.size() == 1;
  };
  for (std::int32_t at : plan.bucket_groups[as_index(group)])
    std::ranges::replace_if(plan.bucket_of[as_index(at)], is_alone, BucketPart{});
  auto first = plan.buckets.lower_bound(first_bucket(group));
  auto last = plan.buckets.lower_bound(first_bucket(group + 1));
  for (; first != last; ++first) {
    auto known = before.find(first->first);
    if (known == before.end() || known->second != first->second) return true;
    before.erase(known);
  }
  return !before.empty();
}

}  // namespace

std::vector<std::int32_t> plan_buckets(ProgramPlan& plan, std::span<const std::int32_t> updates) {
  if (plan.bucket_groups.empty()) {
    plan.bucket_groups = groups_of(plan);
    plan.bucket_of.resize(plan.updates.size());
  }
  std::vector<std::int32_t> changed;
  for (std::size_t group = 0; group < plan.bucket_groups.size(); ++group) {
    const UpdateGroup& own = plan.bucket_groups[group];
    auto is_touched = [&](std::int32_t at) { return std::ranges::binary_search(updates, at); };
    if (std::ranges::none_of(own, is_touched)) continue;
    if (plan_group(plan, static_cast<std::int32_t>(group)))
      changed.insert(changed.end(), own.begin(), own.end());
  }
  std::ranges::sort(changed);
  return changed;
}

}  // namespace troika
