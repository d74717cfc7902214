// A communication as the phases that the simulator serves, from the same description of its
// algorithm as its closed formula.
#pragma once

#include "collective/recipe.h"
#include "cost/link_costs.h"
#include "cost/placements.h"
#include "taskgraph/message_phases.h"

namespace troika {

/// How a communication runs.
struct ChosenCall {
  const CollectiveCall& call;  ///< With the segment of the choice.
  const std::string& algorithm;
  Bytes element{};
  /// Measured as a whole; then the phases are one, of this time. Unset: as the formula says.
  std::optional<SimTime> measured{};
};

/// Borrows its parts.
struct PhaseCosts {
  const Network& network;
  const LinkCosts& links;
  Placements& placements;
};

/// Phases whose loads are on link groups of the placement instead of links: each is that of every
/// link of the group. Without contention they take as long as formula_time says if all messages of
/// a phase that leave a computer have a card and a link of their own and the links of the network
/// are as fast as LinkCosts::network.
MessagePhases phases_on_groups(const PhaseCosts& costs, Placement& placement,
                               const ChosenCall& chosen);

/// A link that stands for others, or for itself, and how many times a group's load it has.
struct LinkShare {
  std::int32_t link = 0;
  std::int64_t times = 1;

  bool operator==(const LinkShare&) const = default;
};
/// Puts loads on links. `shares`: by group.
MessagePhases phases_on_links(const MessagePhases& on_groups,
                              std::span<const std::vector<LinkShare>> shares);
/// Every link by itself.
std::vector<std::vector<LinkShare>> all_links(const Placement& placement);

/// Returns the one phase of members that copy and combine themselves: only work.
MessagePhases work_phases(SimTime time);
/// How long they take if nothing else runs.
SimTime time_alone(const MessagePhases& phases);

/// The collectives whose member 0, the root, is not like the others.
bool is_rooted(Collective kind);

}  // namespace troika
