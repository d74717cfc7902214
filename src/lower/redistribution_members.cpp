#include "lower/redistribution_members.h"

#include <algorithm>
#include <utility>

namespace troika::redistribution {

NeedLists::NeedLists(const Draft& draft, const std::vector<Need>& needs)
    : draft_(draft),
      needs_(needs),
      first_of_(draft.boxes.size(), -1),
      next_(needs.size(), -1),
      on_device_(draft.devices, -1) {
  for (auto at = static_cast<std::int32_t>(needs.size()); at-- > 0;)
    next_[at] = std::exchange(first_of_[needs[at].box], at);
  for (std::int32_t at = 0; at < std::ssize(needs); ++at)
    if (first_of_[needs[at].box] == at) boxes_.push_back(needs[at].box);
}

void NeedLists::append(std::int32_t box, std::vector<std::int32_t>& found) const {
  for (std::int32_t at = first_of_[box]; at >= 0; at = next_[at]) found.push_back(at);
}

void NeedLists::append_overlapping(const Box& box, std::vector<std::int32_t>& found) {
  if (!std::exchange(is_indexed_, true)) index_.build(draft_.boxes, boxes_);
  index_.for_each_overlap(box, [&](std::int32_t at) { append(boxes_[at], found); });
  std::ranges::sort(found);
}

bool NeedLists::match(std::vector<std::int32_t>& found, std::span<const Held> members) {
  if (found.size() != members.size() || found.size() < 2) return false;
  for (std::int32_t at : found) on_device_[needs_[at].device] = at;
  std::vector<std::int32_t> matched;
  bool once = true;  // members that share a device find nothing the second time
  for (const Held& member : members) {
    matched.push_back(std::exchange(on_device_[member.device], -1));
    once = once && matched.back() >= 0;
  }
  for (std::int32_t at : found) on_device_[needs_[at].device] = -1;
  found = std::move(matched);
  return once;
}

VectorBlocks::VectorBlocks(const Draft& draft, std::vector<std::int32_t> made_of,
                           std::int32_t region)
    : parts(std::move(made_of)), whole(region), count(draft.boxes.elements(region)) {
  std::int64_t begin = 0;
  for (std::int32_t part : parts) {
    const Box& box = draft.boxes[part];
    in_order = in_order && find_run(box, draft.boxes[whole], draft.request.frame) == begin;
    ranges.push_back({begin, begin + draft.boxes.elements(part)});
    begin = ranges.back().end;
  }
}

}  // namespace troika::redistribution
