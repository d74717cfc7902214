// The parts of a phase of a collective: its messages and its work on memory.
#pragma once

#include <array>

#include "collective/phases.h"
#include "cost/link_costs.h"

namespace troika {

/// Messages of one size that a sender sends one after the other.
struct SentMessages {
  Bytes bytes{};
  std::int64_t count = 0;
};

/// The messages of each sender in a phase: full segments and shorter last ones. Each counts by
/// itself, because measured times are not linear in its size.
std::array<SentMessages, 2> messages_of(const CollectivePhase& phase, std::int64_t segment,
                                        Bytes element);

/// The slowest kind of link that a message of the phase crosses.
LinkKind slowest_link(const CollectiveCall& call, const CollectivePhases& phases,
                      const CollectivePhase& phase);

/// Copying and combining; `kind`: over which the combined data arrived.
SimTime work_of(const CollectivePhase& phase, LinkKind kind, Bytes element, const LinkCosts& costs);

}  // namespace troika
