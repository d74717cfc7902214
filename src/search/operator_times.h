// Where the time of a step goes, operator by operator: predicted or measured.
#pragma once

#include <vector>

#include "search/task_owners.h"
#include "taskgraph/loop_pass.h"
#include "taskgraph/time_use.h"

namespace troika {

/// Time of one device.
struct OperatorTime {
  SimTime forward{}, backward{}, update{};  ///< Kernels.
  /// Waits for messages that all members have started, and time between kernels in which messages
  /// are moved: the part of communication that computation does not hide.
  SimTime messages{};
  /// Waits for members that start a message later, and time between kernels without messages.
  SimTime waiting{};

  SimTime kernels() const { return forward + backward + update; }
  SimTime total() const { return kernels() + messages + waiting; }
  OperatorTime& operator+=(const OperatorTime& other);
  bool operator==(const OperatorTime&) const = default;
};

struct DeviceTimes {
  DeviceId device;
  std::vector<OperatorTime> of_operator;  ///< By operator of the model.
  /// Time after the last kernel of an operator, up to the first one of the next step.
  OperatorTime rest;

  /// The sum over all operators and the rest, which is DeviceTime::whole.
  OperatorTime sum() const;
};

/// By row of the pass. Kernels that prepare others, and waits, count for the operator whose kernel
/// the device runs next. Operators that run in the kernel of another one have no time of their own.
std::vector<DeviceTimes> operator_times(const TaskGraph& graph, const LoopPass& pass,
                                        const TaskOwners& owners, std::size_t operators);

/// The purpose of a part of the critical path.
enum class PathSort { forward, backward, update, gradient_sum, message, copy, gap };
std::string_view to_string(PathSort sort);

/// The parts of one sort together.
struct PathShare {
  struct Part {
    OperatorPlace op = -1;
    SimTime time{};
  };

  PathSort sort = PathSort::forward;
  SimTime time{};
  std::vector<Part> parts;  ///< By operator, the longest first.
};

/// The critical path of the pass by sort and operator, the longest first. The shares add up to the
/// period. Messages count for the operator whose output or parameter they move.
std::vector<PathShare> path_shares(const TaskGraph& graph, const LoopPass& pass,
                                   const TaskOwners& owners);

}  // namespace troika
