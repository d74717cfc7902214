// Devices told apart by the messages and copies that bring values from their writers to their
// readers.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "base/error.h"
#include "lower/device_comparison.h"

namespace troika {
namespace {

/// What a device does for one value, and how much of it.
struct MoveCount {
  std::int64_t times = 0, elements = 0;

  bool operator==(const MoveCount&) const = default;
};
using MoveCounts = std::map<std::string, MoveCount>;

std::span<const Step> steps_of(const Moves& moves, std::int32_t device) {
  std::int32_t first = moves.first_step[as_index(device)];
  std::int32_t end = moves.first_step[as_index(device) + 1];
  return std::span(moves.steps).subspan(as_index(first), as_index(end - first));
}

/// A message between two devices, or from one to several, has a direction.
std::string verb_of(const Step& step, const Message& message) {
  if (message.kind != Collective::broadcast) return fmt::format("{}", to_string(message.kind));
  return step.member == 0 ? "sends" : "receives";
}

/// `scale`: elements of the value per element of the frame.
MoveCounts count_messages(const Moves& moves, std::int64_t scale, std::int32_t device) {
  MoveCounts counts;
  for (const Step& step : steps_of(moves, device)) {
    if (step.kind != Step::Kind::start) continue;
    const Message& message = moves.messages[as_index(step.message)];
    MoveCount& count = counts[verb_of(step, message)];
    ++count.times;
    count.elements += message.elements * scale;
  }
  return counts;
}

std::int64_t count_local_steps(const Moves& moves, std::int32_t device) {
  std::span<const Step> steps = steps_of(moves, device);
  return std::ranges::count_if(
      steps,
      [](Step::Kind kind) { return kind == Step::Kind::sum || kind == Step::Kind::assemble; },
      &Step::kind);
}

/// Of what a device copies, in the order of its steps.
std::vector<std::int64_t> sizes_of_boxes(const Moves& moves, std::int32_t device) {
  std::vector<std::int64_t> sizes;
  for (const Step& step : steps_of(moves, device))
    for (std::int32_t input = 0; input < step.input_count; ++input) {
      const Box& box = moves.boxes[as_index(moves.inputs[as_index(step.first_input + input)].box)];
      for (std::size_t dim = 0; dim < kMaxRank; ++dim)
        sizes.push_back(box.end[dim] - box.begin[dim]);
    }
  return sizes;
}

/// One of the two devices does this more often, or with more elements.
std::string different_messages(const std::string& verb, const MoveCount& here,
                               const MoveCount& before) {
  bool directed = verb == "sends" || verb == "receives";
  std::string start = directed ? verb : "takes part in";
  std::string noun = directed ? "message" : verb;
  if (here.times != before.times)
    return fmt::format("{} {} instead of {}", start, counted_noun(here.times, noun), before.times);
  return fmt::format("{} {} instead of {}", directed ? verb : verb + " of",
                     counted_noun(here.elements, "element"), before.elements);
}

std::string explain_moves(const ValueSpread& spread, const DevicePair& pair) {
  const Moves& moves = *spread.moves;
  MoveCounts here = count_messages(moves, spread.scale, pair.here);
  MoveCounts before = count_messages(moves, spread.scale, pair.before);
  std::set<std::string> verbs;
  for (const MoveCounts& counts : {here, before})
    for (const auto& [verb, count] : counts) verbs.insert(verb);
  for (const std::string& verb : verbs)
    if (here[verb] != before[verb]) return different_messages(verb, here[verb], before[verb]);
  std::int64_t own = count_local_steps(moves, pair.here);
  std::int64_t other = count_local_steps(moves, pair.before);
  if (own != other) return fmt::format("{} instead of {}", counted_noun(own, "local step"), other);
  return sizes_of_boxes(moves, pair.here) == sizes_of_boxes(moves, pair.before)
             ? "it puts the parts together in another way"
             : "it copies parts of other sizes";
}

/// By class and part (which of a device's messages it is): how many members of a message.
using MemberCounts = std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t>;

/// A message as one of its members sees it.
struct MessageView {
  std::int64_t near = 0;  ///< Other members in its node.
  MemberCounts others{}, all{};
};

MessageView view_message(const DevicePair& pair, const Moves& moves, const Step& start) {
  const Message& message = moves.messages[as_index(start.message)];
  MessageView view;
  for (std::int32_t at = 0; at < message.members; ++at) {
    auto member = as_index(message.first_member + at);
    std::int32_t other = moves.members[member].device;
    std::pair key{pair.classes.of_device[as_index(other)], moves.part[member]};
    ++view.all[key];
    if (at == start.member) continue;
    ++view.others[key];
    view.near += pair.spec(other).node == pair.spec(start.device).node ? 1 : 0;
  }
  return view;
}

std::vector<MessageView> view_messages(const DevicePair& pair, const Moves& moves,
                                       std::int32_t device) {
  std::vector<MessageView> views;
  for (const Step& step : steps_of(moves, device))
    if (step.kind == Step::Kind::start) views.push_back(view_message(pair, moves, step));
  return views;
}

std::map<std::int32_t, std::int64_t> count_by_class(const MemberCounts& members) {
  std::map<std::int32_t, std::int64_t> counts;
  for (const auto& [key, count] : members) counts[key.first] += count;
  return counts;
}

std::string list_classes(const MessageView& view) {
  std::vector<std::int32_t> classes;
  for (const auto& [number, count] : count_by_class(view.others)) classes.push_back(number);
  return fmt::format("{}", fmt::join(classes, ", "));
}

std::int64_t count_partners(const MessageView& view) {
  std::int64_t all = 0;
  for (const auto& [key, count] : view.others) all += count;
  return all;
}

Difference compare_views(const MessageView& here, const MessageView& before) {
  if (count_partners(here) != count_partners(before))
    return fmt::format("{} instead of {}", counted_noun(count_partners(here), "partner"),
                       count_partners(before));
  if (here.near != before.near)
    return fmt::format("{} in its node instead of {}", counted_noun(here.near, "partner"),
                       before.near);
  // Members of one message see each other, so they have different partners without differing.
  if (here.all == before.all || here.others == before.others) return {};
  std::string own = list_classes(here), other = list_classes(before);
  if (own != other) return fmt::format("partners of class {} instead of {}", own, other);
  if (count_by_class(here.others) != count_by_class(before.others))
    return fmt::format("other numbers of partners of class {}", own);
  return fmt::format("another one of the messages of class {}", own);
}

/// The redistributions of a plan, each once, with the first value that has it.
std::vector<std::pair<std::size_t, const Moves*>> distinct_moves(const ProgramPlan& plan) {
  std::vector<std::pair<std::size_t, const Moves*>> found;
  std::set<const Moves*> seen{nullptr};
  for (std::size_t value = 0; value < plan.distribution.values.size(); ++value) {
    const Moves* moves = plan.distribution.values[value].spread.moves;
    if (seen.insert(moves).second) found.emplace_back(value, moves);
  }
  return found;
}

}  // namespace

Difference compare_moves(const DevicePair& pair, AspectTable& aspects) {
  for (const auto& [value, moves] : distinct_moves(pair.plan)) {
    const std::vector<std::uint64_t>& own = aspects.of_moves(*moves).alone.own;
    if (own[as_index(pair.before)] != own[as_index(pair.here)])
      return fmt::format("{}: {}", noun_of(pair.plan, value),
                         explain_moves(pair.plan.distribution.values[value].spread, pair));
  }
  return {};
}

Difference compare_partners(const DevicePair& pair) {
  for (const auto& [value, moves] : distinct_moves(pair.plan)) {
    // The devices do the same here, so they have equally many messages.
    std::vector<MessageView> here = view_messages(pair, *moves, pair.here);
    std::vector<MessageView> before = view_messages(pair, *moves, pair.before);
    for (std::size_t at = 0; at < std::min(here.size(), before.size()); ++at)
      if (Difference found = compare_views(here[at], before[at]))
        return fmt::format("{}: {}", noun_of(pair.plan, value), *found);
  }
  return {};
}

std::string noun_of(const ProgramPlan& plan, std::size_t value) {
  const Graph& graph = *plan.request.graph;
  const OutlinedValue& outlined = plan.distribution.outline.values[value];
  auto of = as_index(outlined.of);
  switch (outlined.kind) {
    case ValueKind::tensor:
      return graph.tensors[of].name;
    case ValueKind::gradient:
      return "gradient of " + graph.tensors[of].name;
    case ValueKind::parameter:
      return graph.parameters[of].name;
    case ValueKind::parameter_gradient:
      return "gradient of " + graph.parameters[of].name;
    case ValueKind::norms:
      return "norms of " + graph.parameters[of].name;
    case ValueKind::kept:
    case ValueKind::unused:
      return fmt::format("'{}' of {}",
                         plan.tables.index.signatures[of].slots[as_index(outlined.slot)].name,
                         graph.operators[of].name);
  }
  throw Bug("a value of no kind");
}

std::string counted_noun(std::int64_t count, const std::string& noun) {
  return count == 0 ? "no " + noun : count == 1 ? "1 " + noun : fmt::format("{} {}s", count, noun);
}

}  // namespace troika
