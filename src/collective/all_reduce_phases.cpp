// Phases of all_reduce, and of the reductions and broadcasts that it is made of.
#include "collective/fold.h"
#include "collective/member_moves.h"
#include "collective/phase_list.h"

namespace troika {
namespace {

/// Groups of one size that do the same at once, and of each the power of two that works.
struct FoldedGroup {
  std::int32_t all, active;
  int pairs;  ///< Members beyond a power of two.
  int size;   ///< Of the active ones.
};

FoldedGroup fold_groups(PhaseList& list, const std::vector<std::vector<int>>& groups) {
  std::vector<std::vector<int>> active;
  for (const std::vector<int>& group : groups) active.push_back(fold({group}).active.members);
  auto size = static_cast<int>(active[0].size());
  int pairs = static_cast<int>(groups[0].size()) - size;
  std::int32_t all = list.add_groups(groups);
  return {all, pairs == 0 ? all : list.add_groups(std::move(active)), pairs, size};
}

void fold_in(PhaseList& list, const FoldedGroup& group, std::int64_t n) {
  if (group.pairs == 0) return;
  list.add({.group = group.all,
            .exchange = Exchange::pair_up,
            .distance = group.pairs,
            .elements = n,
            .work = MemoryWork::combine,
            .worked = n});
}

void fold_out(PhaseList& list, const FoldedGroup& group, std::int64_t n) {
  if (group.pairs == 0) return;
  list.add({.group = group.all,
            .exchange = Exchange::pair_down,
            .distance = group.pairs,
            .elements = n});
}

/// Recursive halving of n (reduce-scatter): steps of n/2, n/4, …; then the way back (all-gather).
void halve_and_double(PhaseList& list, const FoldedGroup& group, std::int64_t n, bool to_root) {
  std::vector<CollectivePhase> back;
  for (int distance : distances(group.size)) {
    n = PhaseList::part(n, 2);
    list.add({.group = group.active,
              .exchange = Exchange::across,
              .distance = distance,
              .elements = n,
              .work = MemoryWork::combine,
              .worked = n});
    back.push_back({.group = group.active,
                    .exchange = to_root ? Exchange::to_lower : Exchange::across,
                    .distance = distance,
                    .elements = n});
  }
  for (auto phase = back.rbegin(); phase != back.rend(); ++phase) list.add(*phase);
}

void rabenseifner(PhaseList& list, const std::vector<std::vector<int>>& groups, std::int64_t n) {
  FoldedGroup group = fold_groups(list, groups);
  fold_in(list, group, n);
  halve_and_double(list, group, n, false);
  fold_out(list, group, n);
}

/// With segments, one is combined while the next is sent.
void ring(PhaseList& list, const std::vector<std::vector<int>>& groups, std::int64_t n) {
  auto size = static_cast<int>(groups[0].size());
  std::int32_t first = list.add_groups(groups);
  std::int64_t slice = PhaseList::part(n, size);
  CollectivePhase there = ring_scatter(first, size, slice);
  there.hides_work = list.call.segment > 0 && slice > list.call.segment;
  list.add(there);
  list.add(ring_gather(first, size, slice));
}

}  // namespace

/// On each level half of the remaining members send to the others.
void tree_reduce_phases(PhaseList& list) {
  Group group = from_root(list.call, 0);
  std::int32_t number = list.add_group(group);
  for (int distance : distances(group.size()))
    list.add({.group = number,
              .exchange = Exchange::to_parents,
              .distance = distance,
              .elements = list.call.count,
              .work = MemoryWork::combine,
              .worked = list.call.count});
}

void tree_broadcast_phases(PhaseList& list) {
  Group group = from_root(list.call, 0);
  std::int32_t number = list.add_group(group);
  std::vector<int> levels = distances(group.size());
  for (auto level = levels.rbegin(); level != levels.rend(); ++level)
    list.add({.group = number,
              .exchange = Exchange::to_children,
              .distance = *level,
              .elements = list.call.count});
}

void tree_all_reduce_phases(PhaseList& list) {
  tree_reduce_phases(list);
  tree_broadcast_phases(list);
}

/// Combined from scratch, because a member sends what it combines with at the same time.
void recursive_doubling_phases(PhaseList& list) {
  FoldedGroup group = fold_groups(list, {everyone(list.call, 0).members});
  std::int64_t n = list.call.count;
  fold_in(list, group, n);
  for (int distance : distances(group.size))
    list.add({.group = group.active,
              .exchange = Exchange::across,
              .distance = distance,
              .elements = n,
              .work = MemoryWork::reduce,
              .worked = n});
  fold_out(list, group, n);
}

void rabenseifner_all_reduce_phases(PhaseList& list) {
  rabenseifner(list, {everyone(list.call, 0).members}, list.call.count);
}

/// As the all-reduce, but the root alone gathers, along a tree of the same step lengths. There is
/// no fold_out, because the idle members need no result.
void rabenseifner_reduce_phases(PhaseList& list) {
  FoldedGroup group = fold_groups(list, {from_root(list.call, 0).members});
  fold_in(list, group, list.call.count);
  halve_and_double(list, group, list.call.count, true);
}

void ring_all_reduce_phases(PhaseList& list) {
  ring(list, {everyone(list.call, 0).members}, list.call.count);
}

/// The largest node has most steps inside, and the smallest determines how many slices there are.
/// Between nodes each slice is summed up by its owners of all nodes, all slices at once.
void hierarchical_all_reduce_phases(PhaseList& list) {
  std::vector<std::vector<int>> inside = inner_groups(list.call);
  auto slices = std::ranges::min(inside, {}, &std::vector<int>::size).size();
  auto largest = static_cast<int>(std::ranges::max(inside, {}, &std::vector<int>::size).size());
  std::vector<std::vector<int>> between(slices);
  for (std::size_t slice = 0; slice < slices; ++slice)
    for (const std::vector<int>& node : inside) between[slice].push_back(node[slice]);

  std::int64_t length = PhaseList::part(list.call.count, static_cast<std::int64_t>(slices));
  std::int32_t first = list.add_groups(std::move(inside));
  list.exchange_with_each(first, {.size = largest, .elements = length, .combines = true});
  if (is_power_of_two(static_cast<int>(between[0].size())))
    rabenseifner(list, between, length);
  else
    ring(list, between, length);
  list.exchange_with_each(first, {.size = largest, .elements = length});
}

/// A loan and its return for each peer, and one pass over this member's slice of all P vectors in
/// between.
void direct_all_reduce_phases(PhaseList& list) {
  std::int64_t slice = PhaseList::part(list.call.count, list.members());
  if (slice == 0 || list.members() == 1) return;
  CollectivePhase signals{.group = list.add_group(everyone(list.call, 0)),
                          .exchange = Exchange::around,
                          .distance = 1,
                          .is_signal = true,
                          .repeats = list.members() - 1};
  list.add(signals);
  list.add_work(MemoryWork::reduce_both, slice * list.members());
  list.add(signals);
}

}  // namespace troika
