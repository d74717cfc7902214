#include "lower/folded_calls.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "base/error.h"

namespace troika {

FoldedCalls::FoldedCalls(const ProgramPlan& plan, const Network& network, const LinkCosts& links)
    : plan_(plan),
      links_(links),
      algorithms_({*plan.request.machine, links_, plan.request.strategy->sync}),
      phases_(network, links_),
      hits_(network.directed_links()) {}

FoldedCalls::Changed FoldedCalls::set_classes(const Partition& partition) {
  if (version_ > 0 && partition == partition_) return {};
  ++version_;
  partition_ = partition;
  alike_.assign(partition.links.size(), 0);
  for (std::int32_t link : partition.links)
    if (link >= 0) ++alike_[as_index(link)];
  const Classes& classes = partition.devices;
  first_.clear();
  for (std::int32_t each : classes.of_device) first_.push_back(classes.first[as_index(each)]);
  Changed changed;
  std::unordered_map<const Moves*, Leaders> leaders;
  for (const DistributedValue& value : plan_.distribution.values) {
    const Moves* moves = value.spread.moves;
    auto known = leaders_.find(moves);
    if (known == leaders_.end() || leaders.contains(moves)) continue;
    Leaders now = find_leaders(*moves);
    bool is_renamed = now != std::exchange(known->second, now);
    if (follow_links(moves) || is_renamed) changed.moves.push_back(moves);
    leaders.emplace(moves, std::move(now));
  }
  leaders_ = std::move(leaders);
  changed.totals = follow_links(nullptr);
  return changed;
}

/// Returns whether some call of a redistribution occupies other links now.
bool FoldedCalls::follow_links(const Moves* moves) {
  auto known = calls_.find(moves);
  if (known == calls_.end()) return false;
  bool changes = false;
  for (std::size_t message = 0; message < known->second.size(); ++message) {
    for (KnownCall& call : known->second[message]) {
      if (call.placement == nullptr) continue;
      Shares before = call.shares;
      put_on_links({moves, static_cast<std::int32_t>(message)}, call);
      changes = changes || call.shares != before;
    }
  }
  return changes;
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

std::vector<FoldedCalls::KnownCall>& FoldedCalls::calls_of(const CallMessage& of) {
  if (last_calls_.second == nullptr || last_calls_.first != of.moves)
    last_calls_ = {of.moves, &calls_[of.moves]};
  MessageCalls& calls = *last_calls_.second;
  std::size_t at = of.moves == nullptr ? 0 : as_index(of.message);
  if (calls.size() <= at) calls.resize(of.moves == nullptr ? 1 : of.moves->messages.size());
  return calls[at];
}

FoldedCalls::KnownCall& FoldedCalls::find_call(const PlannedTask& end, Bytes buffer) {
  std::vector<KnownCall>& calls = calls_of(message_of(plan_, end));
  DType dtype = dtype_of(plan_, end);
  for (KnownCall& known : calls)
    if (known.kind == end.call && known.bytes == buffer.count && known.dtype == dtype) return known;
  // Chosen before it is entered, because there may be no algorithm.
  const AlgorithmChoice& choice =
      algorithms_.choose(complete(describe_call(plan_, end), buffer), dtype);
  return calls.emplace_back(KnownCall{end.call, dtype, buffer.count, choice.time, &choice});
}

CollectiveCall FoldedCalls::complete(const PlannedCall& planned, Bytes buffer) const {
  std::vector<DeviceId> devices;
  for (std::int32_t device : planned.devices) devices.emplace_back(as_index(device));
  CollectiveCall call = planned.call;
  complete_call(call, planned.dtype, buffer, *plan_.request.machine, devices);
  return call;
}

SimTime FoldedCalls::time_of(const PlannedTask& end, Bytes buffer) {
  return find_call(end, buffer).time;
}

SharedPhases FoldedCalls::phases_of(const PlannedTask& end, Bytes buffer) {
  KnownCall& call = find_call(end, buffer);
  if (call.version == 0) find_phases(end, buffer, call);
  if (call.placement != nullptr && call.version != version_)
    put_on_links(message_of(plan_, end), call);
  return call.phases;
}

void FoldedCalls::find_phases(const PlannedTask& end, Bytes buffer, KnownCall& call) {
  PlannedCall planned = describe_call(plan_, end);
  CollectiveCall completed = complete(planned, buffer);
  if (phases_.is_moved_by_devices(completed)) {
    call.phases = SharedPhases(std::make_shared<const MessagePhases>(work_phases(call.time)));
    call.version = version_;
    return;
  }
  call.placement = &phases_.place(completed, planned.devices);
  call.on_groups = phases_.make(*call.placement, completed, call.dtype, *call.choice);
  put_on_links(message_of(plan_, end), call);
}

void FoldedCalls::put_on_links(const CallMessage& message, KnownCall& call) {
  Shares shares = find_shares(message, *call.placement);
  if (call.version == 0 || shares != call.shares)
    call.phases = SharedPhases(
        std::make_shared<const MessagePhases>(phases_on_links(call.on_groups, shares)));
  call.shares = std::move(shares);
  call.version = version_;
}

/// A link that stands for its class carries equally many communications of this class as every
/// other one: those of the class cross so many links of the link's class, together.
FoldedCalls::Shares FoldedCalls::find_shares(const CallMessage& message,
                                             const Placement& placement) {
  Shares shares;
  std::int64_t calls = count_calls(message);
  std::vector<std::int32_t> touched;
  for (const LinkGroup& group : placement.groups) {
    touched.clear();
    for (std::int32_t link : group.links) {
      std::int32_t first = partition_.links[as_index(link)];
      if (hits_[as_index(first)]++ == 0) touched.push_back(first);
    }
    std::ranges::sort(touched);
    std::vector<LinkShare>& own = shares.emplace_back();
    for (std::int32_t link : touched) {
      std::int64_t crossed = calls * std::exchange(hits_[as_index(link)], 0);
      own.push_back({link, crossed / alike_[as_index(link)]});
      TROIKA_CHECK_EQ(own.back().times * alike_[as_index(link)], crossed);
    }
  }
  return shares;
}

/// How many communications the class of a message has: every device of its leader's class plays
/// that part in one of them.
std::int64_t FoldedCalls::count_calls(const CallMessage& of) {
  if (of.moves == nullptr) return 1;
  const Leader& leader = leaders_of(*of.moves)[as_index(of.message)];
  const Message& message = of.moves->messages[as_index(of.message)];
  std::int64_t players = 0;
  for (std::int32_t at = message.first_member; at < message.first_member + message.members; ++at)
    players += first_[as_index(of.moves->members[as_index(at)].device)] == leader.device &&
               of.moves->part[as_index(at)] == leader.part;
  const Classes& classes = partition_.devices;
  return classes.size[as_index(classes.of_device[as_index(leader.device)])] / players;
}

}  // namespace troika
