// The second half of a draft: when each step happens, in which order, and final numbers.
#include <algorithm>
#include <map>
#include <numeric>

#include "lower/redistribution_stages.h"
#include "ops/assemble.h"

namespace troika::redistribution {
namespace {

bool is_call(const Step& step) {
  return step.kind == Step::Kind::start || step.kind == Step::Kind::finish;
}

/// Ends of the items of each device in a list sorted by device, in ends[device + 1]; ends[0] is 0.
template <class Items>
std::vector<std::int32_t> count_by_device(const Items& items, std::int32_t devices) {
  std::vector<std::int32_t> ends(static_cast<std::size_t>(devices) + 1);
  for (const auto& item : items) ++ends[item.device + 1];
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  return ends;
}

/// Indices of the items by device, else in their order.
template <class Items>
std::vector<std::int32_t> sort_by_device(const Items& items,
                                         const std::vector<std::int32_t>& ends) {
  std::vector<std::int32_t> order(items.size()), next = ends;
  for (std::int32_t at = 0; at < std::ssize(items); ++at) order[next[items[at].device]++] = at;
  return order;
}

/// Whether boxes that make up another one can be placed in it by their extents alone. All devices
/// that gather a tensor ask the same, each in its own order.
class PlaceableBoxes {
 public:
  explicit PlaceableBoxes(const BoxTable& boxes) : boxes_(boxes) {}

  bool contains(std::span<const std::int32_t> parts, std::int32_t whole) {
    if (are_in_a_row(parts, whole)) return true;
    std::vector<Shape> extents;
    for (std::int32_t part : parts) extents.push_back(extents_of(part));
    std::ranges::sort(extents, std::ranges::lexicographical_compare);
    Shape outer = extents_of(whole);
    std::vector<std::int64_t> key(outer.begin(), outer.end());
    for (const Shape& each : extents) key.insert(key.end(), each.begin(), each.end());
    auto [known, is_new] = known_.try_emplace(std::move(key));
    if (is_new) known->second = place_boxes(outer, extents).has_value();
    return known->second;
  }

 private:
  std::int32_t extent(std::int32_t box, int dim) const {
    return boxes_[box].end[dim] - boxes_[box].begin[dim];
  }

  Shape extents_of(std::int32_t box) const {
    Shape shape;
    for (int dim = 0; dim < boxes_.dims(); ++dim) shape.push_back(extent(box, dim));
    return shape;
  }

  /// Most tensors are cut along one dimension, where any order does.
  bool are_in_a_row(std::span<const std::int32_t> parts, std::int32_t whole) const {
    int cuts = 0;
    for (int dim = 0; dim < boxes_.dims(); ++dim)
      if (std::ranges::any_of(parts,
                              [&](auto part) { return extent(part, dim) != extent(whole, dim); }))
        ++cuts;
    return cuts <= 1;
  }

  const BoxTable& boxes_;
  std::map<std::vector<std::int64_t>, bool> known_;
};

}  // namespace

std::int32_t Draft::root(std::int32_t id) const {
  return buffers_[id].kind == PlacedBuffer::Kind::block ? buffers_[id].origin : id;
}

/// By step: whether a message waits for it, directly or through other steps.
std::vector<bool> Draft::find_hurried() const {
  std::vector<bool> hurried(steps_.size()), sent(buffers_.size());
  for (std::size_t at = steps_.size(); at-- > 0;) {
    const Step& step = steps_[at];
    if (step.kind == Step::Kind::finish) continue;
    if (step.kind == Step::Kind::start) {
      sent[root(step.out)] = true;
      continue;
    }
    hurried[at] = step.moment < 0 || sent[root(step.out)];
    if (!hurried[at]) continue;
    for (std::int32_t input = 0; input < step.input_count; ++input)
      sent[root(inputs_[step.first_input + input].buffer)] = true;
  }
  return hurried;
}

/// A message begins when the last of its members has what it gives.
void Draft::mark_start(Message& message, std::vector<std::int32_t>& since) {
  bool from_root = message.kind == Collective::broadcast;
  auto member_since = [&](std::int32_t member) -> std::int32_t& {
    return since[root(members_[message.first_member + member].buffer)];
  };
  message.start = 0;
  for (std::int32_t member = 0; member < (from_root ? 1 : message.members); ++member)
    message.start = std::max(message.start, member_since(member));
  for (std::int32_t member = from_root ? 1 : 0; member < message.members; ++member)
    member_since(member) = message.finish;
}

/// Steps were noted behind those that they depend on, so one pass is enough.
void Draft::find_moments() {
  std::vector<bool> hurried = find_hurried();
  std::vector<std::int32_t> since(buffers_.size());  // by root: when its content is there
  for (std::size_t at = 0; at < buffers_.size(); ++at)
    if (buffers_[at].kind == PlacedBuffer::Kind::written) since[at] = buffers_[at].origin;
  for (std::size_t at = 0; at < steps_.size(); ++at) {
    Step& step = steps_[at];
    if (is_call(step)) {
      Message& message = messages_[step.message];
      if (step.kind == Step::Kind::start && step.member == 0) {
        message.finish = step.moment;
        mark_start(message, since);
      }
      step.moment = step.kind == Step::Kind::start ? message.start : message.finish;
      continue;
    }
    if (hurried[at]) {
      step.moment = 0;
      for (std::int32_t input = 0; input < step.input_count; ++input)
        step.moment = std::max(step.moment, since[root(inputs_[step.first_input + input].buffer)]);
    }
    std::int32_t& there = since[root(step.out)];
    there = std::max(there, step.moment);
  }
}

void Draft::order_steps() {
  std::vector<std::int32_t> ends = count_by_device(steps_, devices);
  std::vector<std::int32_t> order = sort_by_device(steps_, ends);
  auto is_before = [&](std::int32_t a, std::int32_t b) {
    if (steps_[a].moment != steps_[b].moment) return steps_[a].moment < steps_[b].moment;
    return turns_[a] != turns_[b] ? turns_[a] < turns_[b] : a < b;
  };
  for (std::int32_t device = 0; device < devices; ++device) {
    auto begin = order.begin() + ends[device], end = order.begin() + ends[device + 1];
    if (!std::is_sorted(begin, end, is_before)) std::sort(begin, end, is_before);
  }
  std::vector<Step> sorted;
  sorted.reserve(steps_.size());
  for (std::int32_t at : order) sorted.push_back(steps_[at]);
  steps_ = std::move(sorted);
}

/// Sorts the buffers; returns the final number of each. `steps_` are in their final order.
std::vector<std::int32_t> Draft::number_buffers() {
  std::vector<std::int32_t> numbers(buffers_.size(), -1);
  std::vector<PlacedBuffer> sorted;
  sorted.reserve(buffers_.size());
  auto add = [&](std::int32_t id) {
    if (numbers[id] >= 0) return;
    numbers[id] = static_cast<std::int32_t>(sorted.size());
    sorted.push_back(buffers_[id]);
  };
  auto add_with_vector = [&](std::int32_t id) {
    add(root(id));
    add(id);
  };
  std::vector<std::int32_t> ends = count_by_device(buffers_, devices);
  std::vector<std::int32_t> order = sort_by_device(buffers_, ends);
  std::size_t next = 0;
  for (std::int32_t device = 0; device < devices; ++device) {
    std::span own = std::span(order).subspan(ends[device], ends[device + 1] - ends[device]);
    for (std::int32_t id : own)
      if (buffers_[id].kind == PlacedBuffer::Kind::written) add(id);
    for (; next < steps_.size() && steps_[next].device == device; ++next) {
      const Step& step = steps_[next];
      for (std::int32_t at = 0; at < step.input_count; ++at)
        add_with_vector(inputs_[step.first_input + at].buffer);
      add_with_vector(step.out);
    }
    for (std::int32_t id : own) add_with_vector(id);
  }
  for (PlacedBuffer& buffer : sorted)
    if (buffer.kind == PlacedBuffer::Kind::block) buffer.origin = numbers[buffer.origin];
  buffers_ = std::move(sorted);
  return numbers;
}

/// Puts inputs into the order of the steps.
void Draft::move_inputs() {
  std::vector<StepInput> sorted;
  sorted.reserve(inputs_.size());
  for (Step& step : steps_) {
    auto first = inputs_.begin() + step.first_input;
    step.first_input = static_cast<std::int32_t>(sorted.size());
    sorted.insert(sorted.end(), first, first + step.input_count);
  }
  inputs_ = std::move(sorted);
}

/// As ops/assemble.cpp tells layers: one ends where it has as many elements as the whole.
void Draft::mark_layered() {
  PlaceableBoxes placeable(boxes);
  std::vector<std::int32_t> parts;
  for (Step& step : steps_) {
    if (step.kind != Step::Kind::assemble) continue;
    std::int32_t whole = buffers_[step.out].box;
    if (step.input_count == 1) {  // most are copies
      step.layered = inputs_[step.first_input].box == whole;
      continue;
    }
    std::int64_t filled = 0;
    step.layered = true;
    parts.clear();
    for (std::int32_t at = 0; at < step.input_count && step.layered; ++at) {
      parts.push_back(inputs_[step.first_input + at].box);
      filled += boxes.elements(parts.back());
      if (filled < boxes.elements(whole)) continue;
      step.layered = make_up(boxes, parts, whole) && placeable.contains(parts, whole);
      parts.clear();
      filled = 0;
    }
    step.layered = step.layered && parts.empty();
  }
}

Redistribution Draft::finish(std::vector<std::vector<std::int32_t>> reads) && {
  find_moments();
  mark_layered();
  order_steps();
  move_inputs();
  std::vector<std::int32_t> numbers = number_buffers();
  for (Step& step : steps_) step.out = numbers[step.out];
  for (StepInput& input : inputs_) input.buffer = numbers[input.buffer];
  for (MessageMember& member : members_) member.buffer = numbers[member.buffer];
  bool in_place = steps_.empty();
  for (std::vector<std::int32_t>& reader : reads) {
    for (std::int32_t& read : reader) {
      read = numbers[read];
      in_place = in_place && buffers_[read].kind == PlacedBuffer::Kind::written;
    }
  }
  // It is kept as long as plans are made; the other lists have been copied to their size.
  std::vector<Box> all_boxes = std::move(boxes).take();
  all_boxes.shrink_to_fit();
  members_.shrink_to_fit();
  messages_.shrink_to_fit();
  ranges_.shrink_to_fit();
  return {.boxes = std::move(all_boxes),
          .buffers = std::move(buffers_),
          .steps = std::move(steps_),
          .inputs = std::move(inputs_),
          .messages = std::move(messages_),
          .members = std::move(members_),
          .ranges = std::move(ranges_),
          .reads = std::move(reads),
          .in_place = in_place};
}

}  // namespace troika::redistribution
