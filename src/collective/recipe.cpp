#include "collective/recipe.h"

#include <algorithm>

#include "base/error.h"

namespace troika {
namespace {

bool has_ranges(Collective kind) {
  switch (kind) {
    case Collective::reduce_scatter:
    case Collective::all_gather:
    case Collective::all_to_all:
    case Collective::gather:
    case Collective::scatter:
      return true;
    case Collective::all_reduce:
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::barrier:
      return false;
  }
  return false;
}

void check_ranges(const CollectiveCall& call) {
  TROIKA_CHECK_EQ(std::ssize(call.ranges), call.members);
  // Sorted by their beginnings, ranges overlap only if two neighbours do.
  std::vector<Range> sorted = call.ranges;
  std::erase_if(sorted, [](Range range) { return range.empty(); });
  std::ranges::sort(sorted, {}, &Range::begin);
  std::int64_t end = 0;
  for (Range range : sorted) {
    TROIKA_CHECK(range.begin >= end, "two ranges overlap");
    end = range.end;
  }
  TROIKA_CHECK(end <= call.count, "a range ends outside the vector");
  bool equal = std::ranges::all_of(
      call.ranges, [&](Range range) { return range.extent() == call.ranges[0].extent(); });
  TROIKA_CHECK(equal || call.kind != Collective::all_to_all, "blocks of unequal length");
}

int at(const std::vector<int>& places, int member) {
  return places.empty() ? 0 : places[static_cast<std::size_t>(member)];
}

}  // namespace

std::string_view to_string(Collective kind) {
  switch (kind) {
    case Collective::all_reduce:
      return "all_reduce";
    case Collective::reduce_scatter:
      return "reduce_scatter";
    case Collective::all_gather:
      return "all_gather";
    case Collective::broadcast:
      return "broadcast";
    case Collective::reduce:
      return "reduce";
    case Collective::all_to_all:
      return "all_to_all";
    case Collective::gather:
      return "gather";
    case Collective::scatter:
      return "scatter";
    case Collective::barrier:
      return "barrier";
  }
  return "";
}

CollectiveCall equal_parts(Collective kind, int members, std::int64_t count) {
  CollectiveCall call{.kind = kind, .members = members, .count = count};
  for (int member = 0; member < members; ++member) {
    Range part = part_of(count, member, members);
    // Nearly equal parts may differ by one; the rest of the vector then belongs to no block.
    if (kind == Collective::all_to_all) part.end = part.begin + count / members;
    call.ranges.push_back(part);
  }
  return call;
}

void check_call(const CollectiveCall& call) {
  TROIKA_CHECK(call.members >= 1 && call.count >= 0 && call.segment >= 0);
  TROIKA_CHECK(call.root >= 0 && call.root < call.members, "the root is not a member");
  TROIKA_CHECK(call.nodes.empty() || std::ssize(call.nodes) == call.members);
  TROIKA_CHECK(call.processes.empty() || std::ssize(call.processes) == call.members);
  TROIKA_CHECK(call.kind != Collective::barrier || call.count == 0, "a barrier moves nothing");
  if (has_ranges(call.kind)) check_ranges(call);
}

LinkKind link_between(const CollectiveCall& call, int a, int b) {
  if (at(call.nodes, a) != at(call.nodes, b)) return LinkKind::network;
  return at(call.processes, a) == at(call.processes, b) ? LinkKind::process : LinkKind::node;
}

LinkKind slowest_link(const CollectiveCall& call) {
  LinkKind slowest = LinkKind::process;
  // All links of a process, and all of a node, are alike, so those of one member are enough.
  for (int member = 1; member < call.members; ++member)
    slowest = std::max(slowest, link_between(call, 0, member));
  return slowest;
}

}  // namespace troika
