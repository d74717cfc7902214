#include "lower/folded_calls.h"

#include <algorithm>
#include <limits>

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

std::vector<FoldedCalls::TimedCall>& FoldedCalls::times_of(const CallMessage& of) {
  if (last_times_.second == nullptr || last_times_.first != of.moves)
    last_times_ = {of.moves, &times_[of.moves]};
  MessageTimes& times = *last_times_.second;
  std::size_t at = of.moves == nullptr ? 0 : as_index(of.message);
  if (times.size() <= at) times.resize(of.moves == nullptr ? 1 : of.moves->messages.size());
  return times[at];
}

FoldedCalls::CallTime FoldedCalls::time_of(const PlannedTask& end, Bytes buffer) {
  std::vector<TimedCall>& times = times_of(message_of(plan_, end));
  DType dtype = dtype_of(plan_, end);
  for (const TimedCall& known : times)
    if (known.kind == end.call && known.bytes == buffer.count && known.dtype == dtype)
      return known.time;
  times.push_back({end.call, dtype, buffer.count, find_time(end, buffer)});
  return times.back().time;
}

FoldedCalls::CallTime FoldedCalls::find_time(const PlannedTask& end, Bytes buffer) {
  PlannedCall call = describe_call(plan_, end);
  std::vector<DeviceId> devices;
  for (std::int32_t device : call.devices) devices.emplace_back(as_index(device));
  complete_call(call.call, call.dtype, buffer, *plan_.request.machine, devices);
  return {algorithms_.choose(call.call, call.dtype).time, is_moved_by_devices(call.call)};
}

}  // namespace troika
