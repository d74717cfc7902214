// How urgent messages are. The one place that decides it, so that the folded graph that is
// simulated and the task graphs that run have the same numbers.
#pragma once

#include <map>
#include <string>

#include "lower/folding.h"

namespace troika {

/// The urgency of the communication that a start or finish belongs to: by its place in the
/// strategy's list of messages, then, for those not listed, by the turn of its first reader. 0 for
/// all without priorities.
std::uint64_t urgency_of(const ProgramPlan& plan, const PlannedTask& end);

struct MessageUrgency {
  std::string name;           ///< As in the strategy's list.
  std::uint64_t by_turn = 0;  ///< If it is not listed.
};
/// Lists the communications of a folded graph.
std::map<FoldedCall, MessageUrgency> message_urgencies(const Folding& folding);

}  // namespace troika
