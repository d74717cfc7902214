// Phases of collectives in which each member has a part of its own: reduce_scatter, all_gather,
// all_to_all, gather, scatter; and of barriers.
#include "collective/group.h"
#include "collective/phase_list.h"

namespace troika {
namespace {

/// The root sends to one child after another, the farthest first.
void scatter_slices(PhaseList& list, std::int32_t group, std::int64_t slice) {
  std::vector<int> levels = distances(list.members());
  for (auto level = levels.rbegin(); level != levels.rend(); ++level)
    list.add({.group = group,
              .exchange = Exchange::to_children,
              .distance = *level,
              .elements = slice * std::min(*level, list.members() - *level)});
}

/// The ranges of the positions below one of those that send at this distance from their parents:
/// the ones with most elements.
std::vector<Range> longest_subtree(const CollectiveCall& call, const Group& group, int distance) {
  std::vector<Range> longest;
  std::int64_t most = -1;
  for (int first = distance; first < group.size(); first += 2 * distance) {
    std::vector<Range> subtree;
    std::int64_t elements = 0;
    for (int position = first; position < std::min(first + distance, group.size()); ++position) {
      subtree.push_back(call.ranges[static_cast<std::size_t>(group.member(position))]);
      elements += subtree.back().extent();
    }
    if (elements <= most) continue;
    most = elements;
    longest = joined(std::move(subtree));
  }
  return longest;
}

}  // namespace

void ring_reduce_scatter_phases(PhaseList& list) {
  list.add(ring_scatter(list.add_group(everyone(list.call, 0)), list.members(), list.range()));
}

void ring_all_gather_phases(PhaseList& list) {
  list.add(ring_gather(list.add_group(everyone(list.call, 0)), list.members(), list.range()));
}

/// Each step exchanges the ranges of half of the remaining members, which are not neighbours in the
/// tree order.
void recursive_halving_phases(PhaseList& list) {
  std::int32_t group = list.add_group(everyone(list.call, 0));
  bool tree = list.call.order == CombineOrder::tree;
  std::int64_t left = list.members();
  for (int step : distances(list.members())) {
    left /= 2;
    CollectivePhase phase{
        .group = group,
        .exchange = Exchange::across,
        // The tree order begins with the nearest peer, any order with the farthest.
        .distance = tree ? step : list.members() / 2 / step,
        .elements = tree ? list.range() : list.range() * left,
        .messages = tree ? left : 1};
    // Several messages hide the combining of all but the last, which the next step needs.
    if (!tree || left <= 2) phase.work = MemoryWork::combine;
    if (phase.work == MemoryWork::combine) phase.worked = phase.elements;
    list.add(phase);
  }
}

/// In the tree order only the last message and the sums it completes are combined after all the
/// others have arrived: one sum on each level of the tree, the first of them on arrival and the
/// others from scratch.
void pairwise_reduce_scatter_phases(PhaseList& list) {
  bool tree = list.call.order == CombineOrder::tree && list.members() > 1;
  list.exchange_with_each(list.add_group(everyone(list.call, 0)),
                          {.size = list.members(), .elements = list.range(), .combines = !tree});
  if (!tree) return;
  list.last().work = MemoryWork::combine;
  list.last().worked = list.range();
  for (std::size_t sum = 1; sum < distances(list.members()).size(); ++sum)
    list.add_work(MemoryWork::reduce, list.range());
}

/// A member copies its own block while the first message travels.
void pairwise_all_to_all_phases(PhaseList& list) {
  if (list.members() == 1) return list.add_work(MemoryWork::copy, list.range());
  list.exchange_with_each(list.add_group(everyone(list.call, 0)),
                          {.size = list.members(), .elements = list.range()});
  list[0].work = MemoryWork::copy;
  list[0].worked = list.range();
  list[0].hides_work = true;
}

/// Blocks of 1, 2, 4, ... ranges, each assumed to travel as one message.
void recursive_doubling_all_gather_phases(PhaseList& list) {
  std::int32_t group = list.add_group(everyone(list.call, 0));
  for (int distance : distances(list.members()))
    list.add({.group = group,
              .exchange = Exchange::across,
              .distance = distance,
              .elements = list.range() * distance});
}

/// Ranges that are not neighbours are separate messages. On each level the longest subtree counts.
void tree_gather_or_scatter_phases(PhaseList& list) {
  Group group = from_root(list.call, 0);
  std::int32_t number = list.add_group(group);
  bool gathers = list.call.kind == Collective::gather;
  for (int distance : distances(group.size())) {
    for (Range range : longest_subtree(list.call, group, distance))
      list.add({.group = number,
                .exchange = gathers ? Exchange::to_parents : Exchange::to_children,
                .distance = distance,
                .elements = range.extent()});
  }
  if (!gathers) list.reverse();
}

void scatter_all_gather_phases(PhaseList& list) {
  std::int64_t slice = PhaseList::part(list.call.count, list.members());
  std::int32_t group = list.add_group(from_root(list.call, 0));
  scatter_slices(list, group, slice);
  list.add(ring_gather(group, list.members(), slice));
}

/// The root's port handles one message at a time.
void linear_phases(PhaseList& list) {
  Group group = from_root(list.call, 0);
  std::int32_t number = list.add_group(group);
  for (int position = 1; position < group.size(); ++position)
    list.add(
        {.group = number,
         .exchange =
             list.call.kind == Collective::gather ? Exchange::to_first : Exchange::from_first,
         .distance = position,
         .elements = list.call.ranges[static_cast<std::size_t>(group.member(position))].extent()});
}

void dissemination_phases(PhaseList& list) {
  std::int32_t group = list.add_group(everyone(list.call, 0));
  for (int distance : distances(list.members()))
    list.add(
        {.group = group, .exchange = Exchange::around, .distance = distance, .is_signal = true});
}

/// Copies that a recipe may hide behind messages count here.
void bruck_all_gather_phases(PhaseList& list) {
  if (list.members() == 1) return;
  std::int32_t group = list.add_group(everyone(list.call, 0));
  list.add_work(MemoryWork::copy, list.range() * list.members());
  // A member sends backwards.
  for (int distance : distances(list.members()))
    list.add({.group = group,
              .exchange = Exchange::around,
              .distance = list.members() - distance,
              .elements = list.range() * std::min(distance, list.members() - distance)});
}

/// In the step of each bit, the blocks whose distance has that bit set are packed and sent; at the
/// end all blocks are copied to their places.
void bruck_all_to_all_phases(PhaseList& list) {
  std::int32_t group = list.add_group(everyone(list.call, 0));
  for (int distance : distances(list.members())) {
    std::int64_t blocks = 0;
    for (int ahead = 0; ahead < list.members(); ++ahead) blocks += (ahead & distance) != 0;
    list.add_work(MemoryWork::copy, list.range() * blocks);
    list.add({.group = group,
              .exchange = Exchange::around,
              .distance = distance,
              .elements = list.range() * blocks});
  }
  list.add_work(MemoryWork::copy, list.range() * list.members());
}

}  // namespace troika
