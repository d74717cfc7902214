#include "cost/formulas.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "collective/fold.h"
#include "collective/member_moves.h"

namespace troika {
namespace {

// Each formula adds up the steps of its algorithm, which follow each other on the critical path. In
// a step all members exchange at once, so it takes as long as its slowest message.

/// The call, the costs, and the terms that all formulas are made of. `n` counts elements.
struct Terms {
  const CollectiveCall& call;
  Bytes element;
  const LinkCosts& costs;

  int members() const { return call.members; }
  /// The longest of the members' parts of n.
  static std::int64_t part(std::int64_t n, std::int64_t parts) { return (n + parts - 1) / parts; }
  /// The longest range.
  std::int64_t range() const {
    std::int64_t longest = 0;
    for (Range range : call.ranges) longest = std::max(longest, range.extent());
    return longest;
  }

  std::int64_t segments(std::int64_t n) const {
    return call.segment > 0 && n > 0 ? part(n, call.segment) : 1;
  }
  /// alpha + n beta, alpha once for each segment: full ones and a shorter last one. Each counts by
  /// itself, because measured times are not linear in n.
  SimTime message(LinkKind link, std::int64_t n) const {
    if (n == 0) return {};
    std::int64_t longest = std::min(n, call.segment > 0 ? call.segment : n);
    return message_time(costs[link], element * longest) * (n / longest) +
           (n % longest == 0 ? SimTime{} : message_time(costs[link], element * (n % longest)));
  }
  SimTime empty_message(LinkKind link) const { return message_time(costs[link], {}); }
  /// n gamma, for data received over a link.
  SimTime combine(LinkKind link, std::int64_t n) const {
    return combine_time(costs[link], element * n);
  }
};

/// The slowest kind of link in one step of the group. `next` maps a position to its partner.
template <class Next>
LinkKind slowest(const Terms& terms, const Group& group, Next next) {
  LinkKind kind = LinkKind::process;
  // A call without places is inside one process, so that no member has to be looked at.
  if (terms.call.nodes.empty() && terms.call.processes.empty()) return kind;
  for (int position = 0; position < group.size() && kind != LinkKind::network; ++position) {
    int other = next(position);
    // In a group that is not a power of two some positions have no partner at that distance.
    if (other < 0 || other >= group.size()) continue;
    kind = std::max(kind, link_between(terms.call, group.member(position), group.member(other)));
  }
  return kind;
}

/// The slowest link of a butterfly or tree step: positions that differ in the bit `distance`.
LinkKind across(const Terms& terms, const Group& group, int distance) {
  return slowest(terms, group, [&](int position) { return position ^ distance; });
}

/// The slowest link of a step in which each position sends `distance` ahead around the ring.
LinkKind round(const Terms& terms, const Group& group, int distance) {
  return slowest(terms, group, [&](int position) { return (position + distance) % group.size(); });
}

/// Distances 1, 2, 4, … below the size.
std::vector<int> distances(int size) {
  std::vector<int> result;
  for (int distance = 1; distance < size; distance *= 2) result.push_back(distance);
  return result;
}

/// The term in brackets of docs/algorithms.md: pairs are positions 2i and 2i + 1, at distance 1.
SimTime fold_in(const Terms& terms, const Fold& fold, const Group& group, std::int64_t n) {
  if (fold.active.size() == group.size()) return {};
  LinkKind link = across(terms, group, 1);
  return terms.message(link, n) + terms.combine(link, n);
}

SimTime fold_out(const Terms& terms, const Fold& fold, const Group& group, std::int64_t n) {
  if (fold.active.size() == group.size()) return {};
  return terms.message(across(terms, group, 1), n);
}

/// L (alpha + n beta + n gamma): on each level half of the remaining members send to the others.
SimTime tree_reduce(const Terms& terms) {
  Group group = from_root(terms.call, 0);
  SimTime time{};
  for (int distance : distances(group.size())) {
    LinkKind link = across(terms, group, distance);
    time += terms.message(link, terms.call.count) + terms.combine(link, terms.call.count);
  }
  return time;
}

SimTime tree_broadcast(const Terms& terms) {
  Group group = from_root(terms.call, 0);
  SimTime time{};
  for (int distance : distances(group.size()))
    time += terms.message(across(terms, group, distance), terms.call.count);
  return time;
}

SimTime tree_all_reduce(const Terms& terms) { return tree_reduce(terms) + tree_broadcast(terms); }

/// log Q (alpha + n beta + n rho): combined from scratch, so it costs reduce_time and not gamma.
SimTime recursive_doubling(const Terms& terms) {
  Group group = everyone(terms.call, 0);
  Fold folded = fold(group);
  std::int64_t n = terms.call.count;
  SimTime time = fold_in(terms, folded, group, n);
  for (int distance : distances(folded.active.size()))
    time += terms.message(across(terms, folded.active, distance), n) +
            reduce_time(terms.costs.memory, terms.element * n);
  return time + fold_out(terms, folded, group, n);
}

/// Recursive halving of n (reduce-scatter), and the doubling that undoes it (all-gather).
struct HalvingTimes {
  SimTime there{}, back{};
};

/// Steps of n/2, n/4, ... elements, which add up to n (Q-1)/Q.
HalvingTimes halve(const Terms& terms, const Group& active, std::int64_t n) {
  HalvingTimes times;
  for (int distance : distances(active.size())) {
    LinkKind link = across(terms, active, distance);
    n = terms.part(n, 2);
    times.there += terms.message(link, n) + terms.combine(link, n);
    times.back += terms.message(link, n);
  }
  return times;
}

SimTime rabenseifner(const Terms& terms, const Group& group, std::int64_t n) {
  Fold folded = fold(group);
  HalvingTimes times = halve(terms, folded.active, n);
  return fold_in(terms, folded, group, n) + times.there + times.back +
         fold_out(terms, folded, group, n);
}

SimTime rabenseifner_all_reduce(const Terms& terms) {
  return rabenseifner(terms, everyone(terms.call, 0), terms.call.count);
}

/// As the all-reduce, but the root alone gathers, along a tree of the same step lengths. There is
/// no fold_out, because the idle members need no result.
SimTime rabenseifner_reduce(const Terms& terms) {
  Group group = from_root(terms.call, 0);
  Fold folded = fold(group);
  HalvingTimes times = halve(terms, folded.active, terms.call.count);
  return fold_in(terms, folded, group, terms.call.count) + times.there + times.back;
}

/// P - 1 equal steps of one slice each.
SimTime ring_reduce_scatter(const Terms& terms, const Group& group, std::int64_t slice) {
  LinkKind link = round(terms, group, 1);
  return (terms.message(link, slice) + terms.combine(link, slice)) * (group.size() - 1);
}

SimTime ring_all_gather(const Terms& terms, const Group& group, std::int64_t slice) {
  return terms.message(round(terms, group, 1), slice) * (group.size() - 1);
}

/// With segments, one is combined while the next is sent.
SimTime ring(const Terms& terms, const Group& group, std::int64_t n) {
  std::int64_t slice = terms.part(n, group.size());
  if (terms.segments(slice) == 1)
    return ring_reduce_scatter(terms, group, slice) + ring_all_gather(terms, group, slice);
  LinkKind link = round(terms, group, 1);
  SimTime step = std::max(terms.message(link, slice), terms.combine(link, slice));
  return step * (group.size() - 1) + ring_all_gather(terms, group, slice);
}

SimTime ring_all_reduce(const Terms& terms) {
  return ring(terms, everyone(terms.call, 0), terms.call.count);
}

SimTime ring_reduce_scatter(const Terms& terms) {
  return ring_reduce_scatter(terms, everyone(terms.call, 0), terms.range());
}

SimTime ring_all_gather(const Terms& terms) {
  return ring_all_gather(terms, everyone(terms.call, 0), terms.range());
}

/// The largest node has most steps inside, and the smallest determines the length of the slices.
SimTime hierarchical_all_reduce(const Terms& terms) {
  std::vector<std::vector<int>> groups = inner_groups(terms.call);
  auto smallest = std::ranges::min(groups, {}, &std::vector<int>::size).size();
  const std::vector<int>& largest = std::ranges::max(groups, {}, &std::vector<int>::size);
  Group inside{.members = largest}, between;
  for (const std::vector<int>& group : groups) between.members.push_back(group[0]);

  std::int64_t slice = terms.part(terms.call.count, static_cast<std::int64_t>(smallest));
  LinkKind link = round(terms, inside, 1);
  SimTime there = terms.message(link, slice) + terms.combine(link, slice);
  SimTime middle = is_power_of_two(between.size()) ? rabenseifner(terms, between, slice)
                                                   : ring(terms, between, slice);
  return (there + terms.message(link, slice)) * (inside.size() - 1) + middle;
}

/// 2 (P-1) alpha + n delta: a loan and its return for each peer, then one pass over this member's
/// slice of all P vectors, n bytes in total.
SimTime direct_all_reduce(const Terms& terms) {
  std::int64_t slice = terms.part(terms.call.count, terms.members());
  if (slice == 0 || terms.members() == 1) return {};
  return terms.empty_message(LinkKind::process) * (2 * (terms.members() - 1)) +
         reduce_both_time(terms.costs.memory, terms.element * (slice * terms.members()));
}

/// Each step exchanges the ranges of half of the remaining members, which are not neighbours in the
/// tree order.
SimTime recursive_halving(const Terms& terms) {
  Group group = everyone(terms.call, 0);
  bool tree = terms.call.order == CombineOrder::tree;
  SimTime time{};
  std::int64_t left = terms.members();
  for (int step : distances(group.size())) {
    // The tree order begins with the nearest peer, any order with the farthest.
    LinkKind link = across(terms, group, tree ? step : group.size() / 2 / step);
    left /= 2;
    time += tree ? terms.message(link, terms.range()) * left
                 : terms.message(link, terms.range() * left);
    // Several messages hide the combining of all but the last, which the next step needs.
    if (!tree || left <= 2)
      time += terms.combine(link, tree ? terms.range() : terms.range() * left);
  }
  return time;
}

SimTime exchange_with_each(const Terms& terms, std::int64_t n, bool combines) {
  Group group = everyone(terms.call, 0);
  SimTime time{};
  for (int step = 1; step < group.size(); ++step) {
    LinkKind link = round(terms, group, step);
    time += terms.message(link, n) + (combines ? terms.combine(link, n) : SimTime{});
  }
  return time;
}

/// In the tree order only the last message and the sums it completes are combined after all the
/// others have arrived.
SimTime pairwise_reduce_scatter(const Terms& terms) {
  if (terms.call.order == CombineOrder::any || terms.members() == 1)
    return exchange_with_each(terms, terms.range(), true);
  Group group = everyone(terms.call, 0);
  // The last message completes one sum on each level of the tree; the first of them is combined on
  // arrival and the others from scratch.
  auto sums = std::ssize(distances(group.size())) - 1;
  return exchange_with_each(terms, terms.range(), false) +
         terms.combine(round(terms, group, group.size() - 1), terms.range()) +
         reduce_time(terms.costs.memory, terms.element * terms.range()) * sums;
}

SimTime pairwise_all_to_all(const Terms& terms) {
  // A member copies its own block while messages travel.
  return std::max(exchange_with_each(terms, terms.range(), false),
                  copy_time(terms.costs.memory, terms.element * terms.range()));
}

/// Blocks of 1, 2, 4, ... ranges, each assumed to travel as one message.
SimTime recursive_doubling_all_gather(const Terms& terms) {
  Group group = everyone(terms.call, 0);
  SimTime time{};
  for (int distance : distances(group.size()))
    time += terms.message(across(terms, group, distance), terms.range() * distance);
  return time;
}

/// The root sends to, or receives from, one child after another.
SimTime tree_of_slices(const Terms& terms, std::int64_t slice) {
  Group group = from_root(terms.call, 0);
  SimTime time{};
  for (int distance : distances(group.size()))
    time += terms.message(across(terms, group, distance),
                          slice * std::min(distance, group.size() - distance));
  return time;
}

/// As above for the ranges of the call. Ranges that are not neighbours are separate messages.
SimTime tree_gather_or_scatter(const Terms& terms) {
  Group group = from_root(terms.call, 0);
  SimTime time{};
  for (int child : distances(group.size())) {
    std::vector<Range> subtree;
    for (int position = child; position < std::min(2 * child, group.size()); ++position)
      subtree.push_back(terms.call.ranges[static_cast<std::size_t>(group.member(position))]);
    for (Range range : joined(subtree))
      time += terms.message(across(terms, group, child), range.extent());
  }
  return time;
}

SimTime scatter_all_gather(const Terms& terms) {
  std::int64_t slice = terms.part(terms.call.count, terms.members());
  return tree_of_slices(terms, slice) + ring_all_gather(terms, from_root(terms.call, 0), slice);
}

/// The root's port handles one message at a time, so all of them add up.
SimTime linear(const Terms& terms) {
  SimTime time{};
  for (int member = 0; member < terms.members(); ++member) {
    if (member == terms.call.root) continue;
    time += terms.message(link_between(terms.call, member, terms.call.root),
                          terms.call.ranges[static_cast<std::size_t>(member)].extent());
  }
  return time;
}

SimTime dissemination(const Terms& terms) {
  Group group = everyone(terms.call, 0);
  SimTime time{};
  for (int distance : distances(group.size()))
    time += terms.empty_message(round(terms, group, distance));
  return time;
}

SimTime copy(const Terms& terms, std::int64_t n) {
  return copy_time(terms.costs.memory, terms.element * n);
}

/// All copies count here; in recipe_time() some overlap with messages.
SimTime bruck_all_gather(const Terms& terms) {
  Group group = everyone(terms.call, 0);
  if (group.size() == 1) return {};
  SimTime time = copy(terms, terms.range() * group.size());
  for (int distance : distances(group.size()))
    time += terms.message(round(terms, group, distance),
                          terms.range() * std::min(distance, group.size() - distance));
  return time;
}

/// In the step of each bit, the blocks whose distance has that bit set are packed and sent; at the
/// end all blocks are copied to their places.
SimTime bruck_all_to_all(const Terms& terms) {
  Group group = everyone(terms.call, 0);
  SimTime time = copy(terms, terms.range() * group.size());
  for (int distance : distances(group.size())) {
    std::int64_t blocks = 0;
    for (int ahead = 0; ahead < group.size(); ++ahead) blocks += (ahead & distance) != 0;
    time += copy(terms, terms.range() * blocks) +
            terms.message(round(terms, group, distance), terms.range() * blocks);
  }
  return time;
}

struct Formula {
  Collective kind;
  std::string_view algorithm;
  SimTime (*time)(const Terms& terms);
};

using enum Collective;

constexpr std::array kFormulas{
    Formula{all_reduce, "direct", direct_all_reduce},
    Formula{all_reduce, "direct_streamed", direct_all_reduce},
    Formula{all_reduce, "recursive_doubling", recursive_doubling},
    Formula{all_reduce, "rabenseifner", rabenseifner_all_reduce},
    Formula{all_reduce, "ring", ring_all_reduce},
    Formula{all_reduce, "hierarchical", hierarchical_all_reduce},
    Formula{all_reduce, "tree", tree_all_reduce},
    Formula{reduce_scatter, "recursive_halving", recursive_halving},
    Formula{reduce_scatter, "pairwise", pairwise_reduce_scatter},
    Formula{reduce_scatter, "ring", ring_reduce_scatter},
    Formula{all_gather, "recursive_doubling", recursive_doubling_all_gather},
    Formula{all_gather, "ring", ring_all_gather},
    Formula{all_gather, "bruck", bruck_all_gather},
    Formula{broadcast, "tree", tree_broadcast},
    Formula{broadcast, "scatter_all_gather", scatter_all_gather},
    Formula{reduce, "tree", tree_reduce},
    Formula{reduce, "rabenseifner", rabenseifner_reduce},
    Formula{all_to_all, "pairwise", pairwise_all_to_all},
    Formula{all_to_all, "bruck", bruck_all_to_all},
    Formula{gather, "tree", tree_gather_or_scatter},
    Formula{gather, "linear", linear},
    Formula{scatter, "tree", tree_gather_or_scatter},
    Formula{scatter, "linear", linear},
    Formula{barrier, "dissemination", dissemination},
};

}  // namespace

SimTime formula_time(const CollectiveCall& call, std::string_view algorithm, Bytes element,
                     const LinkCosts& costs) {
  auto found = std::ranges::find_if(kFormulas, [&](const Formula& formula) {
    return formula.kind == call.kind && formula.algorithm == algorithm;
  });
  TROIKA_CHECK(found != kFormulas.end(), "no formula for " + std::string(algorithm));
  return found->time({call, element, costs});
}

}  // namespace troika
