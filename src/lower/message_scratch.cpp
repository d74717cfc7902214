#include "lower/message_scratch.h"

#include <algorithm>

#include "base/hash.h"
#include "collective/member_memory.h"

namespace troika {
namespace {

/// Numbers in the order in which they first occur, so that calls between other nodes are equal.
void relabel(std::vector<int>& numbers) {
  std::unordered_map<int, int> known;
  for (int& number : numbers)
    number = known.try_emplace(number, static_cast<int>(known.size())).first->second;
}

std::uint64_t hash(const PlannedCall& call) {
  std::uint64_t code =
      mix(static_cast<std::uint64_t>(call.call.kind), static_cast<std::uint64_t>(call.call.count));
  code = mix(code, static_cast<std::uint64_t>(call.dtype));
  for (int node : call.call.nodes) code = mix(code, static_cast<std::uint64_t>(node));
  for (int process : call.call.processes) code = mix(code, static_cast<std::uint64_t>(process));
  return code;
}

bool is_same(const PlannedCall& one, const PlannedCall& other) {
  return one.dtype == other.dtype && one.rule == other.rule && one.call == other.call;
}

/// The end of another message with which a device of the same class plays the same part.
PlannedTask end_of(const ProgramPlan& plan, PlannedTask end, std::int32_t message) {
  if (end.call != CallKind::bucket) {
    end.index = message;
    return end;
  }
  auto update = as_index(plan.buckets.at(end.of).parts[0].update);
  end.of = plan.bucket_of[update][as_index(message)].bucket;
  return end;
}

}  // namespace

MessageScratch::MessageScratch(const ProgramPlan& plan)
    : plan_(plan),
      links_(links_of(plan.request)),
      algorithms_({*plan.request.machine, links_, plan.request.strategy->sync}) {}

void MessageScratch::set_classes(const Classes& classes) {
  devices_.assign(as_index(classes.count()), {});
  for (std::size_t device = 0; device < classes.of_device.size(); ++device)
    devices_[as_index(classes.of_device[device])].push_back(static_cast<std::int32_t>(device));
  greatest_.clear();
}

Bytes MessageScratch::of_class(const PlannedTask& start, Bytes buffer, std::int32_t a_class) {
  CallMessage of = message_of(plan_, start);
  Elements elements{start.call, of.moves, buffer.count, 1, dtype_of(plan_, start), false};
  if (start.call == CallKind::moves) {
    elements.scale = plan_.distribution.values[as_index(start.of)].spread.scale;
    elements.greatest = is_greatest(plan_, as_index(start.of));
  }
  std::int32_t part = 0;
  if (of.moves != nullptr)
    part =
        of.moves
            ->part[as_index(of.moves->messages[as_index(of.message)].first_member + start.member)];
  auto [known, is_new] = greatest_.try_emplace({elements, part, a_class});
  if (is_new) known->second = find_greatest(start, elements, a_class);
  return known->second;
}

Bytes MessageScratch::find_greatest(const PlannedTask& start, const Elements& elements,
                                    std::int32_t a_class) {
  CallMessage of = message_of(plan_, start);
  const std::vector<std::int32_t>& devices = devices_[as_index(a_class)];
  const ByMember* members = &members_of(start, elements);
  Bytes greatest{};
  if (of.moves == nullptr) {
    for (std::int32_t device : devices) greatest = std::max(greatest, (*members)[as_index(device)]);
    return greatest;
  }
  const Moves& moves = *of.moves;
  std::int32_t at = moves.messages[as_index(of.message)].first_member + start.member;
  std::int32_t message = of.message, part = moves.part[as_index(at)];
  for (std::int32_t device : devices) {
    const Step& own = moves.steps[as_index(moves.first_step[as_index(device)] + part)];
    if (own.message != message) {
      message = own.message;
      members = &members_of(end_of(plan_, start, message), elements);
    }
    greatest = std::max(greatest, (*members)[as_index(own.member)]);
  }
  return greatest;
}

const MessageScratch::ByMember& MessageScratch::members_of(const PlannedTask& end,
                                                           const Elements& elements) {
  auto [known, is_new] = messages_.try_emplace({elements, message_of(plan_, end).message});
  if (!is_new) return *known->second;
  PlannedCall call = describe_call(plan_, end);
  std::vector<DeviceId> devices;
  for (std::int32_t device : call.devices) devices.emplace_back(as_index(device));
  complete_call(call.call, call.dtype, Bytes{elements.bytes}, *plan_.request.machine, devices);
  relabel(call.call.nodes);
  relabel(call.call.processes);
  return *(known->second = &count(call));
}

const MessageScratch::ByMember& MessageScratch::count(const PlannedCall& call) {
  std::uint64_t code = hash(call);
  auto [first, last] = calls_.equal_range(code);
  for (; first != last; ++first)
    if (is_same(first->second.call, call)) return first->second.members;
  const AlgorithmChoice& choice = algorithms_.choose(call.call, call.dtype);
  ByMember members = memory_of_members(call.call, choice.algorithm, {call.dtype, call.rule});
  return calls_.emplace(code, KnownCall{call, std::move(members)})->second.members;
}

}  // namespace troika
