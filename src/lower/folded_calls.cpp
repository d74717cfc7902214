#include "lower/folded_calls.h"

#include <algorithm>
#include <limits>

#include "base/hash.h"

namespace troika {

FoldedCalls::FoldedCalls(const ProgramPlan& plan)
    : plan_(plan),
      links_(links_of(plan.request)),
      algorithms_({*plan.request.machine, links_, plan.request.strategy->sync}) {}

std::vector<const Moves*> FoldedCalls::set_classes(const Classes& classes) {
  std::vector<std::int32_t> first;
  first.reserve(classes.of_device.size());
  for (std::int32_t each : classes.of_device) first.push_back(classes.first[as_index(each)]);
  if (first == first_) return {};
  first_ = std::move(first);
  std::vector<const Moves*> changed;
  std::unordered_map<const Moves*, Leaders> leaders;
  for (const DistributedValue& value : plan_.distribution.values) {
    const Moves* moves = value.spread.moves;
    auto known = leaders_.find(moves);
    if (known == leaders_.end() || leaders.contains(moves)) continue;
    Leaders now = find_leaders(*moves);
    if (now != known->second) changed.push_back(moves);
    leaders.emplace(moves, std::move(now));
  }
  leaders_ = std::move(leaders);
  return changed;
}

const FoldedCalls::Leaders& FoldedCalls::leaders_of(const Moves& moves) {
  auto known = leaders_.find(&moves);
  if (known == leaders_.end()) known = leaders_.emplace(&moves, find_leaders(moves)).first;
  return known->second;
}

FoldedCalls::Leaders FoldedCalls::find_leaders(const Moves& moves) const {
  Leaders leaders;
  leaders.reserve(moves.messages.size());
  for (const Message& message : moves.messages) {
    Leader least{std::numeric_limits<std::int32_t>::max(), 0};
    for (std::int32_t at = message.first_member; at < message.first_member + message.members;
         ++at) {
      std::int32_t device = first_[as_index(moves.members[as_index(at)].device)];
      least = std::min(least, {device, moves.part[as_index(at)]});
    }
    leaders.push_back(least);
  }
  return leaders;
}

FoldedCall FoldedCalls::name_of(const PlannedTask& end) {
  FoldedCall made{static_cast<std::int32_t>(end.call), end.of, end.micro_batch};
  // A bucket goes by its first gradient: its number differs between devices of a class.
  if (end.call == CallKind::bucket) made.of = plan_.buckets.at(end.of).parts[0].update;
  if (CallMessage of = message_of(plan_, end); of.moves != nullptr) {
    const Leader& leader = leaders_of(*of.moves)[as_index(of.message)];
    made.device = leader.device;
    made.part = leader.part;
  }
  return made;
}

std::size_t FoldedCalls::TimedCallHash::operator()(const TimedCall& call) const {
  std::uint64_t hash = mix(static_cast<std::uint64_t>(call.bytes), static_cast<int>(call.kind));
  hash = mix(hash, static_cast<std::uint64_t>(call.message));
  return mix(mix(hash, static_cast<int>(call.dtype)),
             reinterpret_cast<std::uintptr_t>(call.moves));  // NOLINT
}

SimTime FoldedCalls::time_of(const PlannedTask& end, Bytes buffer) {
  CallMessage of = message_of(plan_, end);
  auto [known, is_new] = times_.try_emplace(
      TimedCall{end.call, of.moves, of.message, buffer.count, dtype_of(plan_, end)});
  if (is_new) {
    PlannedCall call = describe_call(plan_, end);
    std::vector<DeviceId> devices;
    for (std::int32_t device : call.devices) devices.emplace_back(as_index(device));
    complete_call(call.call, call.dtype, buffer, *plan_.request.machine, devices);
    known->second = algorithms_.choose(call.call, call.dtype).time;
  }
  return known->second;
}

}  // namespace troika
