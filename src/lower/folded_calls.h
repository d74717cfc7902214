// Communications between classes of devices: which of a plan's are one, and how long they take.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "lower/choose_algorithms.h"
#include "lower/planned_calls.h"
#include "taskgraph/folded_graph.h"

namespace troika {

/// Borrows the plan.
class FoldedCalls {
 public:
  explicit FoldedCalls(const ProgramPlan& plan);

  /// Returns the redistributions of the plan whose messages now have another leader.
  std::vector<const Moves*> set_classes(const Classes& classes);

  /// Of a start or finish.
  FoldedCall name_of(const PlannedTask& end);
  /// As in Communication.
  struct CallTime {
    SimTime time{};
    bool by_devices = false;

    bool operator==(const CallTime&) const = default;
  };
  /// `buffer`: of the member's buffer, as it lies.
  CallTime time_of(const PlannedTask& end, Bytes buffer);

 private:
  /// The member that names a message.
  struct Leader {
    std::int32_t device = 0, part = 0;

    auto operator<=>(const Leader&) const = default;
  };
  using Leaders = std::vector<Leader>;  // by message
  /// A communication in the place of a message, and the time that it takes.
  struct TimedCall {
    CallKind kind;
    DType dtype;
    std::int64_t bytes;
    CallTime time;
  };
  using MessageTimes = std::vector<std::vector<TimedCall>>;  // by message, mostly one or two each

  const Leaders& leaders_of(const Moves& moves);
  std::vector<TimedCall>& times_of(const CallMessage& message);
  CallTime find_time(const PlannedTask& end, Bytes buffer);
  Leaders find_leaders(const Moves& moves) const;

  const ProgramPlan& plan_;
  const LinkCosts links_;
  AlgorithmTable algorithms_;
  std::vector<std::int32_t> first_;  // by device: the first of its class
  std::unordered_map<const Moves*, Leaders> leaders_;
  std::unordered_map<const Moves*, MessageTimes> times_;  // null: of all devices
  // The entry that was asked for last: a device has the messages of a value one after the other.
  // Entries are never erased and do not depend on classes.
  std::pair<const Moves*, MessageTimes*> last_times_{};
};

}  // namespace troika
