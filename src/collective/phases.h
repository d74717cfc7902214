// A collective as a short list of lockstep phases: who sends how much to whom, and what is combined
// on arrival. It says the same as a recipe without a move per member and message, so that costs of
// thousands of members can be summed up. docs/algorithms.md lists the sums of these phases.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "collective/recipe.h"

namespace troika {

/// Who sends to whom, by positions in a group.
enum class Exchange : std::uint8_t {
  across,       ///< Positions that differ in the bit `distance` send to each other.
  around,       ///< Each position sends to the one `distance` ahead, wrapping around. Groups that
                ///< are not larger than the distance do not take part.
  to_parents,   ///< Those whose lowest bit is `distance` send to the position without that bit.
  to_children,  ///< The other way.
  to_lower,     ///< Those from `distance` up to twice that send to the position `distance` below.
  pair_up,      ///< Of the first `distance` pairs of neighbours, the odd one sends to the even one.
  pair_down,    ///< The other way.
  to_first,     ///< Position `distance` sends to position 0.
  from_first,   ///< The other way.
  nobody,       ///< Each member works for itself.
};

/// What a member does with its own memory in a phase.
enum class MemoryWork : std::uint8_t {
  none,
  combine,      ///< With what has arrived over the link.
  reduce,       ///< With what has arrived in scratch memory.
  reduce_both,  ///< All members' vectors, in shared memory.
  copy,
};

/// All lengths are those of the longest part of any member.
struct CollectivePhase {
  std::int32_t group = 0;  ///< In CollectivePhases::groups.
  Exchange exchange = Exchange::nobody;
  int distance = 0;
  std::int64_t elements = 0;  ///< Of a message. A message of none is sent only if `is_signal`.
  bool is_signal = false;     ///< Empty messages that say that something may begin.
  std::int64_t messages = 1;  ///< That each sender sends, one after the other.
  MemoryWork work = MemoryWork::none;
  std::int64_t worked = 0;  ///< Elements.
  bool hides_work = false;  ///< Work on one segment overlaps with the message of the next.
  std::int64_t repeats = 1;

  bool operator==(const CollectivePhase&) const = default;
};

struct CollectivePhases {
  /// Members by position. Of several groups that do the same at once, such as the nodes of a
  /// hierarchical all_reduce, all are listed, the largest first, and phases name the first of them.
  std::vector<std::vector<int>> groups;
  std::vector<std::int32_t> alike;  ///< By group: the last group, exclusive, that does the same.
  std::vector<CollectivePhase> phases;
};

/// Precondition: the algorithm supports the call.
CollectivePhases phases_of(const CollectiveCall& call, std::string_view algorithm);

/// Calls `visit(from, to)` with the members of each message that is sent at once in a phase, until
/// it returns false.
void for_each_send(const CollectivePhases& phases, const CollectivePhase& phase,
                   const std::function<bool(int from, int to)>& visit);

}  // namespace troika
