#include "collective/phases.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/error.h"
#include "collective/phase_list.h"

namespace troika {
namespace {

struct PhaseRule {
  Collective kind;
  std::string_view algorithm;
  void (*add)(PhaseList& list);
};

using enum Collective;

constexpr std::array kPhaseRules{
    PhaseRule{all_reduce, "direct", direct_all_reduce_phases},
    PhaseRule{all_reduce, "direct_streamed", direct_all_reduce_phases},
    PhaseRule{all_reduce, "recursive_doubling", recursive_doubling_phases},
    PhaseRule{all_reduce, "rabenseifner", rabenseifner_all_reduce_phases},
    PhaseRule{all_reduce, "ring", ring_all_reduce_phases},
    PhaseRule{all_reduce, "hierarchical", hierarchical_all_reduce_phases},
    PhaseRule{all_reduce, "tree", tree_all_reduce_phases},
    PhaseRule{reduce_scatter, "recursive_halving", recursive_halving_phases},
    PhaseRule{reduce_scatter, "pairwise", pairwise_reduce_scatter_phases},
    PhaseRule{reduce_scatter, "ring", ring_reduce_scatter_phases},
    PhaseRule{all_gather, "recursive_doubling", recursive_doubling_all_gather_phases},
    PhaseRule{all_gather, "ring", ring_all_gather_phases},
    PhaseRule{all_gather, "bruck", bruck_all_gather_phases},
    PhaseRule{broadcast, "tree", tree_broadcast_phases},
    PhaseRule{broadcast, "scatter_all_gather", scatter_all_gather_phases},
    PhaseRule{reduce, "tree", tree_reduce_phases},
    PhaseRule{reduce, "rabenseifner", rabenseifner_reduce_phases},
    PhaseRule{all_to_all, "pairwise", pairwise_all_to_all_phases},
    PhaseRule{all_to_all, "bruck", bruck_all_to_all_phases},
    PhaseRule{gather, "tree", tree_gather_or_scatter_phases},
    PhaseRule{gather, "linear", linear_phases},
    PhaseRule{scatter, "tree", tree_gather_or_scatter_phases},
    PhaseRule{scatter, "linear", linear_phases},
    PhaseRule{barrier, "dissemination", dissemination_phases},
};

/// The senders of a phase in a group of this size: positions first, first + step, … below end; and
/// the position that one of them sends to.
struct Senders {
  int first = 0, step = 1, end = 0;
  std::function<int(int position)> receiver;
};

Senders senders_of(const CollectivePhase& phase, int size) {
  int distance = phase.distance;
  switch (phase.exchange) {
    case Exchange::across:
      return {0, 1, size, [=](int at) { return at ^ distance; }};
    case Exchange::to_lower:
      return {distance, 1, std::min(2 * distance, size), [=](int at) { return at - distance; }};
    case Exchange::around:
      return {0, 1, distance < size ? size : 0, [=](int at) { return (at + distance) % size; }};
    case Exchange::to_parents:
      return {distance, 2 * distance, size, [=](int at) { return at - distance; }};
    case Exchange::to_children:
      return {0, 2 * distance, size - distance, [=](int at) { return at + distance; }};
    case Exchange::pair_up:
      return {1, 2, 2 * distance, [](int at) { return at - 1; }};
    case Exchange::pair_down:
      return {0, 2, 2 * distance, [](int at) { return at + 1; }};
    case Exchange::to_first:
      return {distance, 1, distance + 1, [](int) { return 0; }};
    case Exchange::from_first:
      return {0, 1, 1, [=](int) { return distance; }};
    case Exchange::nobody:
      return {};
  }
  throw Bug("an unknown exchange");
}

}  // namespace

CollectivePhases phases_of(const CollectiveCall& call, std::string_view algorithm) {
  auto found = std::ranges::find_if(kPhaseRules, [&](const PhaseRule& rule) {
    return rule.kind == call.kind && rule.algorithm == algorithm;
  });
  TROIKA_CHECK(found != kPhaseRules.end(), "no phases of " + std::string(algorithm));
  PhaseList list(call);
  found->add(list);
  return list.take();
}

void for_each_send(const CollectivePhases& phases, const CollectivePhase& phase,
                   const std::function<bool(int from, int to)>& visit) {
  if (phase.exchange == Exchange::nobody) return;
  auto end = static_cast<std::size_t>(phases.alike[static_cast<std::size_t>(phase.group)]);
  for (auto at = static_cast<std::size_t>(phase.group); at < end; ++at) {
    const std::vector<int>& group = phases.groups[at];
    auto size = static_cast<int>(group.size());
    Senders senders = senders_of(phase, size);
    for (int from = senders.first; from < senders.end; from += senders.step) {
      int to = senders.receiver(from);
      // In a group that is not a power of two some positions have no partner at that distance.
      if (to == from || to >= size) continue;
      if (!visit(group[static_cast<std::size_t>(from)], group[static_cast<std::size_t>(to)]))
        return;
    }
  }
}

}  // namespace troika
