#include <algorithm>
#include <numeric>

#include "lower/redistribution_stages.h"

namespace troika::redistribution {
namespace {

/// Up to so many boxes comparing all pairs is faster than sorting.
constexpr std::size_t kFewBoxes = 16;

}  // namespace

bool are_disjoint(const BoxTable& boxes, std::span<const std::int32_t> ids) {
  if (ids.size() <= kFewBoxes) {
    for (std::size_t at = 0; at < ids.size(); ++at)
      for (std::size_t other = 0; other < at; ++other)
        if (overlap(boxes[ids[at]], boxes[ids[other]], boxes.dims())) return false;
    return true;
  }
  BoxIndex index;
  index.build(boxes, ids);
  return std::ranges::all_of(ids, [&](std::int32_t id) {
    int found = 0;  // itself at least
    index.for_each_overlap(boxes[id], [&](std::int32_t) { ++found; });
    return found == 1;
  });
}

Holders::Holders(const BoxTable& boxes, const Terms& terms)
    : terms_(terms), held_(terms.held.size()), term_of_(terms.held.size()) {
  std::vector<std::int32_t> place_of(boxes.size(), -1);  // by box
  for (const Held& held : terms.held) {
    std::int32_t& place = place_of[held.box];
    if (place < 0) {
      place = size();
      boxes_.push_back(held.box);
      firsts_.push_back(0);
    }
    ++firsts_[place];
  }
  firsts_.push_back(0);
  std::exclusive_scan(firsts_.begin(), firsts_.end(), firsts_.begin(), 0);
  std::vector<std::int32_t> next = firsts_;
  for (std::int32_t term = 0, at = 0; term < terms.size(); ++term) {
    for (; at < terms.ends[term]; ++at) {
      held_[next[place_of[terms.held[at].box]]++] = at;
      term_of_[at] = term;
    }
  }
  index_.build(boxes, boxes_);
}

bool make_up(const BoxTable& boxes, std::span<const std::int32_t> parts, std::int32_t whole) {
  std::int64_t count = 0;
  for (std::int32_t part : parts) {
    if (!contains(boxes[whole], boxes[part], boxes.dims())) return false;
    count += boxes.elements(part);
  }
  return count == boxes.elements(whole) && are_disjoint(boxes, parts);
}

}  // namespace troika::redistribution
