// Communications between classes of devices: which of a plan's are one, and how long they take.
#pragma once

#include <unordered_map>
#include <vector>

#include "lower/choose_algorithms.h"
#include "lower/planned_calls.h"
#include "taskgraph/folded_graph.h"

namespace troika {

/// Borrows the plan.
class FoldedCalls {
 public:
  explicit FoldedCalls(const ProgramPlan& plan);

  /// Returns the redistributions of the plan in whose messages others are the leading members now.
  std::vector<const Moves*> set_classes(const Classes& classes);

  /// Of a start or finish.
  FoldedCall name_of(const PlannedTask& end);
  /// `buffer`: of the member's buffer, as it lies.
  SimTime time_of(const PlannedTask& end, Bytes buffer);

 private:
  /// The member that names a message.
  struct Leader {
    std::int32_t device = 0, part = 0;

    auto operator<=>(const Leader&) const = default;
  };
  using Leaders = std::vector<Leader>;  // by message
  /// What the time of a communication follows from.
  struct TimedCall {
    CallKind kind;
    const Moves* moves;
    std::int32_t message;
    std::int64_t bytes;
    DType dtype;

    bool operator==(const TimedCall&) const = default;
  };
  struct TimedCallHash {
    std::size_t operator()(const TimedCall& call) const;
  };

  const Leaders& leaders_of(const Moves& moves);
  Leaders find_leaders(const Moves& moves) const;

  const ProgramPlan& plan_;
  const LinkCosts links_;
  AlgorithmTable algorithms_;
  std::vector<std::int32_t> first_;  // by device: the first of its class
  std::unordered_map<const Moves*, Leaders> leaders_;
  std::unordered_map<TimedCall, SimTime, TimedCallHash> times_;
};

}  // namespace troika
