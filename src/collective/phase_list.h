// Internal to phases: what the rules of the algorithms are written with, and their declarations.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "collective/group.h"
#include "collective/phases.h"

namespace troika {

/// Collects the phases of a call. `n` counts elements.
class PhaseList {
 public:
  explicit PhaseList(const CollectiveCall& of) : call(of) {}

  int members() const { return call.members; }
  /// The longest of the members' parts of n.
  static std::int64_t part(std::int64_t n, std::int64_t parts) { return (n + parts - 1) / parts; }
  /// The longest range.
  std::int64_t range() const {
    std::int64_t longest = 0;
    for (Range range : call.ranges) longest = std::max(longest, range.extent());
    return longest;
  }

  std::int32_t add_group(const Group& group) {
    made_.groups.push_back(group.members);
    made_.alike.push_back(static_cast<std::int32_t>(made_.groups.size()));
    return static_cast<std::int32_t>(made_.groups.size()) - 1;
  }
  /// Groups that do the same at once, the largest first.
  std::int32_t add_groups(std::vector<std::vector<int>> groups) {
    std::ranges::stable_sort(groups, std::ranges::greater{}, &std::vector<int>::size);
    auto first = static_cast<std::int32_t>(made_.groups.size());
    auto end = first + static_cast<std::int32_t>(groups.size());
    for (std::vector<int>& group : groups) {
      made_.groups.push_back(std::move(group));
      made_.alike.push_back(end);
    }
    return first;
  }
  /// A ring of one has no steps.
  void add(const CollectivePhase& phase) {
    if (phase.repeats > 0) made_.phases.push_back(phase);
  }
  void add_work(MemoryWork work, std::int64_t n) { add({.work = work, .worked = n}); }
  /// One step per peer, of `size` members.
  struct Steps {
    int size = 1;
    std::int64_t elements = 0;
    bool combines = false;
  };
  void exchange_with_each(std::int32_t group, const Steps& steps) {
    for (int step = 1; step < steps.size; ++step)
      add({.group = group,
           .exchange = Exchange::around,
           .distance = step,
           .elements = steps.elements,
           .work = steps.combines ? MemoryWork::combine : MemoryWork::none,
           .worked = steps.combines ? steps.elements : 0});
  }
  CollectivePhase& operator[](std::size_t at) { return made_.phases[at]; }
  CollectivePhase& last() { return made_.phases.back(); }
  void reverse() { std::ranges::reverse(made_.phases); }

  CollectivePhases take() { return std::move(made_); }

  const CollectiveCall& call;

 private:
  CollectivePhases made_;
};

/// Distances 1, 2, 4, … below the size.
inline std::vector<int> distances(int size) {
  std::vector<int> result;
  for (int distance = 1; distance < size; distance *= 2) result.push_back(distance);
  return result;
}

/// P - 1 equal steps of one slice each.
inline CollectivePhase ring_gather(std::int32_t group, int size, std::int64_t slice) {
  return {.group = group,
          .exchange = Exchange::around,
          .distance = 1,
          .elements = slice,
          .repeats = size - 1};
}

inline CollectivePhase ring_scatter(std::int32_t group, int size, std::int64_t slice) {
  CollectivePhase phase = ring_gather(group, size, slice);
  phase.work = MemoryWork::combine;
  phase.worked = slice;
  return phase;
}

// all_reduce_phases.cpp, with broadcasts and reductions, which are parts of them
void direct_all_reduce_phases(PhaseList& list);
void recursive_doubling_phases(PhaseList& list);
void rabenseifner_all_reduce_phases(PhaseList& list);
void ring_all_reduce_phases(PhaseList& list);
void hierarchical_all_reduce_phases(PhaseList& list);
void tree_all_reduce_phases(PhaseList& list);
void tree_broadcast_phases(PhaseList& list);
void tree_reduce_phases(PhaseList& list);
void rabenseifner_reduce_phases(PhaseList& list);

// part_phases.cpp: collectives in which each member has its own part
void recursive_halving_phases(PhaseList& list);
void pairwise_reduce_scatter_phases(PhaseList& list);
void ring_reduce_scatter_phases(PhaseList& list);
void recursive_doubling_all_gather_phases(PhaseList& list);
void ring_all_gather_phases(PhaseList& list);
void bruck_all_gather_phases(PhaseList& list);
void scatter_all_gather_phases(PhaseList& list);
void pairwise_all_to_all_phases(PhaseList& list);
void bruck_all_to_all_phases(PhaseList& list);
void tree_gather_or_scatter_phases(PhaseList& list);
void linear_phases(PhaseList& list);
void dissemination_phases(PhaseList& list);

}  // namespace troika
