// The memory of all members of a call, by formulas: what a planner asks for calls of thousands of
// members, whose moves would be too many to list. The test compares them with the moves.
#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <span>

#include "collective/algorithms.h"
#include "collective/group.h"
#include "collective/member_memory.h"
#include "collective/member_moves.h"

namespace troika {
namespace {

std::int64_t total_of(std::span<const Range> ranges) {
  std::int64_t total = 0;
  for (Range range : ranges) total += range.extent();
  return total;
}

/// Counts elements by member: scratch, and messages that are combined on arrival.
class ElementCount {
 public:
  explicit ElementCount(const CollectiveCall& call)
      : call_(call), elements_(static_cast<std::size_t>(call.members)) {}

  const CollectiveCall& call() const { return call_; }
  std::vector<int> everyone() const { return troika::everyone(call_, 0).members; }
  std::int64_t range_of(int member) const {
    return call_.ranges[static_cast<std::size_t>(member)].extent();
  }

  void add(int member, std::int64_t elements) {
    elements_[static_cast<std::size_t>(member)] += elements;
  }
  /// Members that share memory need no receive buffer.
  void add_received(int member, int peer, std::int64_t elements) {
    if (link_between(call_, member, peer) != LinkKind::process) add(member, elements);
  }
  std::vector<std::int64_t> take() && { return std::move(elements_); }

 private:
  const CollectiveCall& call_;
  std::vector<std::int64_t> elements_;
};

/// Everything but the slice of the member before arrives from that member.
void count_ring(ElementCount& count, const std::vector<int>& members,
                std::span<const Range> slices) {
  std::int64_t total = total_of(slices);
  for (std::size_t at = 0; at < members.size(); ++at) {
    std::size_t before = (at + members.size() - 1) % members.size();
    count.add_received(members[at], members[before], total - slices[before].extent());
  }
}

/// Members that work on after the others have given them their contributions (fold.h).
std::vector<int> count_fold(ElementCount& count, const std::vector<int>& members,
                            std::int64_t elements) {
  std::size_t pairs = members.size() - std::bit_floor(members.size());
  std::vector<int> active;
  for (std::size_t at = 0; at < members.size(); ++at) {
    if (at < 2 * pairs && at % 2 == 1) continue;
    if (at < 2 * pairs) count.add_received(members[at], members[at + 1], elements);
    active.push_back(members[at]);
  }
  return active;
}

void count_halvings(ElementCount& count, const std::vector<int>& members, std::int64_t elements) {
  std::vector<int> active = count_fold(count, members, elements);
  for (std::size_t at = 0; at < active.size(); ++at) {
    std::int64_t left = elements;
    for (std::size_t distance = 1; distance < active.size(); distance *= 2) {
      bool takes_upper = (at & distance) != 0;
      left = takes_upper ? left - left / 2 : left / 2;
      count.add_received(active[at], active[at ^ distance], left);
    }
  }
}

void rabenseifner(ElementCount& count) {
  count_halvings(count, count.everyone(), count.call().count);
}

void ring_all(ElementCount& count) {
  count_ring(count, count.everyone(), slices_of({0, count.call().count}, count.call().members));
}

void ring_scatter(ElementCount& count) { count_ring(count, count.everyone(), count.call().ranges); }

void recursive_doubling(ElementCount& count) {
  std::vector<int> active = count_fold(count, count.everyone(), count.call().count);
  for (int member : active)
    if (active.size() > 1) count.add(member, count.call().count);
}

void tree(ElementCount& count) {
  int members = count.call().members;
  for (int member = 0; member < members; ++member) {
    int lowest = member == 0 ? members : member & -member;
    for (int distance = 1; distance < lowest && member + distance < members; distance *= 2)
      count.add_received(member, member + distance, count.call().count);
  }
}

void hierarchical(ElementCount& count) {
  std::vector<std::vector<int>> groups = inner_groups(count.call());
  auto smallest = std::ranges::min(groups, {}, &std::vector<int>::size).size();
  std::vector<Range> slices = slices_of({0, count.call().count}, static_cast<int>(smallest));
  for (std::size_t mine = 0; mine < smallest; ++mine) {
    std::vector<int> across;
    for (const std::vector<int>& group : groups) {
      across.push_back(group[mine]);
      for (int peer : group)
        if (peer != group[mine]) count.add_received(group[mine], peer, slices[mine].extent());
    }
    if (std::has_single_bit(across.size()))
      count_halvings(count, across, slices[mine].extent());
    else
      count_ring(count, across, slices_of(slices[mine], static_cast<int>(across.size())));
  }
}

void recursive_halving(ElementCount& count) {
  auto members = static_cast<unsigned>(count.call().members);
  unsigned decided = 0;
  for (unsigned step = 1; step < members; step *= 2) {
    unsigned distance = count.call().order == CombineOrder::tree ? step : members / 2 / step;
    decided |= distance;
    std::vector<std::int64_t> left(members);  // by the decided bits of a member
    for (unsigned at = 0; at < members; ++at)
      left[at & decided] += count.range_of(static_cast<int>(at));
    for (unsigned at = 0; at < members; ++at)
      count.add_received(static_cast<int>(at), static_cast<int>(at ^ distance), left[at & decided]);
  }
}

/// All others send their share of a member's range. In the tree order those at an even distance are
/// stored in scratch, one range per level above the first.
void pairwise_scatter(ElementCount& count) {
  const CollectiveCall& call = count.call();
  bool as_tree = call.order == CombineOrder::tree;
  auto parity = [&](int member) { return as_tree ? member % 2 : 0; };
  std::map<std::tuple<int, int, int>, std::int64_t> near;  // by node, process and parity
  auto place = [&](int member, int odd) {
    auto at = static_cast<std::size_t>(member);
    return std::tuple(call.nodes.empty() ? 0 : call.nodes[at],
                      call.processes.empty() ? 0 : call.processes[at], odd);
  };
  for (int member = 0; member < call.members; ++member) ++near[place(member, parity(member))];
  int levels = std::bit_width(static_cast<unsigned>(call.members)) - 1;
  for (int member = 0; member < call.members; ++member) {
    auto shared = near.find(place(member, as_tree ? 1 - parity(member) : 0));
    std::int64_t senders = as_tree ? call.members / 2 : call.members;
    if (shared != near.end()) senders -= shared->second;
    std::int64_t kept = as_tree ? std::max(0, levels - 1) : 0;
    count.add(member, (senders + kept) * count.range_of(member));
  }
}

void bruck_gather(ElementCount& count) {
  if (count.call().members == 1) return;
  std::int64_t total = total_of(count.call().ranges);
  for (int member = 0; member < count.call().members; ++member) count.add(member, total);
}

void bruck_exchange(ElementCount& count) {
  int members = count.call().members;
  std::int64_t blocks = members / 2;
  for (int distance = 1; distance < members; distance *= 2)
    for (int ahead = distance; ahead < members; ++ahead)
      if ((ahead & distance) != 0) ++blocks;
  for (int member = 0; member < members; ++member) count.add(member, blocks * count.range_of(0));
}

void nothing(ElementCount&) {}

struct MemoryRule {
  Collective kind;
  std::string_view algorithm;
  void (*count)(ElementCount&);
};

constexpr std::array kRules{
    MemoryRule{Collective::all_reduce, "direct", nothing},
    MemoryRule{Collective::all_reduce, "direct_streamed", nothing},
    MemoryRule{Collective::all_reduce, "recursive_doubling", recursive_doubling},
    MemoryRule{Collective::all_reduce, "rabenseifner", rabenseifner},
    MemoryRule{Collective::all_reduce, "ring", ring_all},
    MemoryRule{Collective::all_reduce, "hierarchical", hierarchical},
    MemoryRule{Collective::all_reduce, "tree", tree},
    MemoryRule{Collective::reduce_scatter, "recursive_halving", recursive_halving},
    MemoryRule{Collective::reduce_scatter, "pairwise", pairwise_scatter},
    MemoryRule{Collective::reduce_scatter, "ring", ring_scatter},
    MemoryRule{Collective::all_gather, "recursive_doubling", nothing},
    MemoryRule{Collective::all_gather, "ring", nothing},
    MemoryRule{Collective::all_gather, "bruck", bruck_gather},
    MemoryRule{Collective::broadcast, "tree", nothing},
    MemoryRule{Collective::broadcast, "scatter_all_gather", nothing},
    MemoryRule{Collective::all_to_all, "pairwise", nothing},
    MemoryRule{Collective::all_to_all, "bruck", bruck_exchange},
};

std::vector<Bytes> memory_by_moves(const CollectiveCall& call, std::string_view algorithm,
                                   const MemberElements& elements) {
  std::vector<Bytes> memory;
  for (int member = 0; member < call.members; ++member)
    memory.push_back(
        memory_of_member(make_member_recipe(call, algorithm, member), elements).total());
  return memory;
}

}  // namespace

std::vector<Bytes> memory_of_members(const CollectiveCall& call, std::string_view algorithm,
                                     const MemberElements& elements) {
  auto rule = std::ranges::find_if(kRules, [&](const MemoryRule& each) {
    return each.kind == call.kind && each.algorithm == algorithm;
  });
  if (rule == kRules.end()) return memory_by_moves(call, algorithm, elements);
  // What does not depend on the moves.
  MemberMemory fixed = memory_of_member({call, std::string(algorithm), 0, {}}, elements);
  ElementCount count(call);
  rule->count(count);
  std::vector<Bytes> memory;
  for (std::int64_t each : std::move(count).take())
    memory.push_back(fixed.total() + size_of(fixed.dtype) * each);
  return memory;
}

}  // namespace troika
