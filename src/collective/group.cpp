#include "collective/group.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace troika {

int Group::member(int position) const {
  // The remainder of a negative number is negative.
  int wrapped = position % size();
  return members[static_cast<std::size_t>(wrapped < 0 ? wrapped + size() : wrapped)];
}

Group everyone(const CollectiveCall& call, int member) {
  Group group{.members = std::vector<int>(static_cast<std::size_t>(call.members)), .me = member};
  std::iota(group.members.begin(), group.members.end(), 0);
  return group;
}

Group from_root(const CollectiveCall& call, int member) {
  Group group;
  for (int position = 0; position < call.members; ++position) {
    // XOR permutes within aligned blocks, so subtrees keep their members; rotation would not.
    int there = is_power_of_two(call.members) ? position ^ call.root
                                              : (position + call.root) % call.members;
    if (there == member) group.me = position;
    group.members.push_back(there);
  }
  return group;
}

std::vector<Range> slices_of(Range whole, int parts) {
  std::vector<Range> slices;
  for (int index = 0; index < parts; ++index) {
    Range part = part_of(whole.extent(), index, parts);
    slices.push_back({whole.begin + part.begin, whole.begin + part.end});
  }
  return slices;
}

std::vector<Range> joined(std::vector<Range> ranges) {
  std::erase_if(ranges, [](Range range) { return range.empty(); });
  std::ranges::sort(ranges, {}, &Range::begin);
  std::vector<Range> result;
  for (Range range : ranges) {
    if (!result.empty() && result.back().end == range.begin)
      result.back().end = range.end;
    else
      result.push_back(range);
  }
  return result;
}

bool is_power_of_two(int number) { return std::has_single_bit(static_cast<unsigned>(number)); }

int power_of_two_below(int number) {
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(number)));
}

}  // namespace troika
