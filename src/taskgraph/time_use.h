// What the devices do during a step, predicted or measured, and what they wait for.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "taskgraph/loop_pass.h"

namespace troika {

enum class TimeUse {
  compute,    ///< Kernels of forward and backward.
  optimizer,  ///< Kernels of updates.
  late_peer,  ///< Waits for a message that another member has not started yet.
  message,    ///< Waits for a message that all members have started.
  moving,     ///< Between two tasks, while messages are under way, which the device may move.
  other,      ///< Between two tasks, while none is under way.
  step_end,   ///< From the last task of a pass to the first one of the next.
};
std::string_view to_string(TimeUse use);
/// Whether kernels run.
constexpr bool is_busy(TimeUse use) { return use == TimeUse::compute || use == TimeUse::optimizer; }

/// A span of a device's time, and the task that it goes by.
struct TimePiece {
  TimeUse use = TimeUse::compute;
  std::optional<Collective> kind{};  ///< Of the message that is waited for.
  SimTime time{};
  /// Place in the row of the task that runs or waits; of a gap, of the task behind it; of the end
  /// of a step, of the last task.
  std::size_t at = 0;
};

/// The whole of a row in order; none of the pieces is empty. They add up to DeviceTime::whole.
using RowPieces = std::vector<TimePiece>;
/// By row of the pass. If the graph lacks members of a message, those that it has count as all.
std::vector<RowPieces> time_pieces(const TaskGraph& graph, const LoopPass& pass);

struct TimeShare {
  TimeUse use = TimeUse::compute;
  std::optional<Collective> kind{};  ///< Of the message that is waited for.
  SimTime time{};

  bool operator==(const TimeShare&) const = default;
};

struct DeviceTime {
  DeviceId device;
  /// The sum of the shares: the period, or the pass of this device if it took longer, as it may
  /// where a loop repeats only every few steps.
  SimTime whole{};
  std::vector<TimeShare> shares;  ///< In the order of TimeUse, then of Collective; none is zero.

  SimTime busy() const;
  bool operator==(const DeviceTime&) const = default;
};

/// By row of the pass: the pieces, added up by use.
std::vector<DeviceTime> time_use(const TaskGraph& graph, const LoopPass& pass);

/// By number of message: the start of the member that starts it last; nothing where no start is
/// shown.
std::vector<std::optional<RanTask>> last_starts(const TaskGraph& graph, const LoopPass& pass);
/// When the message of a finish began, on the clock of the pass that is shown: it may lag behind.
std::optional<SimTime> began(const TaskGraph& graph, const LoopPass& pass, const RanTask& finish,
                             const std::vector<std::optional<RanTask>>& starts);

}  // namespace troika
