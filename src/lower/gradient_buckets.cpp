#include "lower/gradient_buckets.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

#include "lower/place_buffers.h"
#include "lower/update_moments.h"

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

/// Indexes of updates, in the order in which backward finishes their gradients.
using UpdateGroup = std::vector<std::size_t>;

/// Groups of parameters that are not listed hold up to the strategy's size. Whole parameters count,
/// so that groups do not depend on how these are split. Groups come in the order of their first
/// updates, so that the order of the strategy's list does not matter.
std::vector<UpdateGroup> groups_of(const ProgramPlan& plan) {
  std::vector<std::int32_t> listed = listed_groups(plan);
  std::vector<std::size_t> order(plan.updates.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {},
                           [&](std::size_t at) { return last_user(plan, plan.updates[at]); });
  std::vector<UpdateGroup> groups;
  std::map<std::int32_t, std::size_t> place_of;  // by listed group; others count down from -1
  std::int32_t open = -1;
  Bytes bytes;  // of the open group
  for (std::size_t at : order) {
    std::int32_t group = listed[at];
    if (group < 0) {
      auto parameter = as_index(plan.updates[at].parameter);
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

/// Messages that can be one: between the same devices, of one element type, at one lag.
using BucketKey = std::tuple<std::vector<std::int32_t>, DType, std::int32_t>;
using OpenBuckets = std::map<BucketKey, std::size_t>;

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
  auto [found, is_new] =
      open.try_emplace({std::move(devices), gradient.spec.dtype, finish.lag}, plan.buckets.size());
  if (is_new) plan.buckets.push_back({.start = start, .finish = finish});
  GradientBucket& bucket = plan.buckets[found->second];
  plan.bucket_of[update][index] = {static_cast<std::int32_t>(found->second),
                                   static_cast<std::int32_t>(bucket.parts.size())};
  bucket.parts.push_back(
      {static_cast<std::int32_t>(update), static_cast<std::int32_t>(index), bucket.bytes});
  bucket.bytes += aligned(gradient_bytes(plan, update, message));
  if (pack(bucket.start.turn) < pack(start.turn)) bucket.start = start;
  if (pack(finish.turn) < pack(bucket.finish.turn)) bucket.finish = finish;
}

}  // namespace

void plan_buckets(ProgramPlan& plan) {
  auto messages = [&](std::size_t update) -> std::span<const Message> {
    const Moves* moves =
        plan.distribution.values[as_index(plan.updates[update].gradient)].spread.moves;
    return moves == nullptr ? std::span<const Message>{} : moves->messages;
  };
  for (std::size_t at = 0; at < plan.updates.size(); ++at)
    plan.bucket_of.emplace_back(messages(at).size());
  for (const UpdateGroup& group : groups_of(plan)) {
    OpenBuckets open;
    for (std::size_t at : group)
      for (std::size_t index = 0; index < messages(at).size(); ++index)
        if (can_join(plan, plan.updates[at], messages(at)[index]))
          join_bucket(plan, at, index, open);
  }
  // One gradient alone travels as it is.
  for (std::vector<BucketPart>& parts : plan.bucket_of)
    for (BucketPart& part : parts)
      if (part.bucket >= 0 && plan.buckets[as_index(part.bucket)].parts.size() == 1) part = {};
}

}  // namespace troika
