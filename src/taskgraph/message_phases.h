// How a communication occupies links and devices while it runs: what the simulator serves.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/units.h"

namespace troika {

/// A link in one direction, numbered by the machine (cost/network.h).
struct DirectedLink {
  std::int32_t number = 0;
  SimTime chunk{};  ///< Of this time; an urgent message overtakes at its end.

  bool operator==(const DirectedLink&) const = default;
};

/// How long a phase of a message occupies a link.
struct LinkLoad {
  std::int32_t link = 0;  ///< A link in one direction.
  SimTime time{};
  Bytes bytes{};  ///< That cross it; for reports, the simulator reads only the time.

  bool operator==(const LinkLoad&) const = default;
};

/// Messages run in lockstep phases: a phase begins on all members at once and ends once all its
/// links are done, all members have done their work and the latency has passed.
struct MessagePhase {
  std::int32_t first_load = 0, loads = 0;  ///< In the list of loads.
  /// Of each member: copying and combining that its device does between kernels or while it waits.
  SimTime work{};
  SimTime latency{};         ///< Occupies nothing.
  std::int32_t repeats = 1;  ///< Equal phases, one after the other.

  bool operator==(const MessagePhase&) const = default;
};

struct MessagePhases {
  std::vector<MessagePhase> phases;
  std::vector<LinkLoad> loads;

  bool operator==(const MessagePhases&) const = default;
};

/// Phases that equal messages share; compared by content. None where the message is nothing but
/// time that passes.
class SharedPhases {
 public:
  SharedPhases() = default;
  // Shared by tasks, graphs and the table that made them; none of them outlives all others.
  explicit SharedPhases(std::shared_ptr<const MessagePhases> phases) : phases_(std::move(phases)) {}

  const MessagePhases* get() const { return phases_.get(); }
  bool operator==(const SharedPhases& other) const {
    if (phases_ == other.phases_) return true;
    return phases_ && other.phases_ && *phases_ == *other.phases_;
  }

 private:
  std::shared_ptr<const MessagePhases> phases_;
};

}  // namespace troika
