// Runs the tasks of one device. Kernels are compiled, messages prepared and pointers bound in
// advance; a step is then a plain loop over the tasks.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/move_scheduler.h"
#include "device/device.h"
#include "kernels/kernel.h"
#include "taskgraph/timeline.h"

namespace troika {

/// Compiled kernels by key and choice; tasks of equal keys share one. Used by one device's thread.
class KernelCache {
 public:
  explicit KernelCache(const Backend& backend) : backend_(backend) {}
  Kernel& get(const Task& task);
  std::size_t size() const { return kernels_.size(); }

 private:
  const Backend& backend_;
  std::map<std::string, std::unique_ptr<Kernel>> kernels_;
};

/// The time of a step on one device, by cause; the parts add up to the whole.
struct StepLedger {
  std::chrono::nanoseconds compute{}, optimizer{};
  std::chrono::nanoseconds moving{};   ///< Running moves of messages inside a wait.
  std::chrono::nanoseconds waiting{};  ///< For a peer.
  std::chrono::nanoseconds data{};     ///< Waiting for samples; filled in by the caller.
  std::chrono::nanoseconds other{};    ///< Starting messages, reading clocks, submitting work.

  std::chrono::nanoseconds total() const {
    return compute + optimizer + moving + waiting + data + other;
  }
  StepLedger& operator+=(const StepLedger& more);
};

/// Arguments of an executor. All borrowed.
struct ExecutorSetting {
  DeviceId device;
  KernelCache& kernels;
  const std::function<DevicePointer(BufferId)>& address;
  /// Makes this device's part in a communication.
  const std::function<std::unique_ptr<Operation>(CommunicationId, int member)>& operation;
  /// Runs this device's moves; its transport is told if this device fails. Null: the device is
  /// alone.
  MoveScheduler* scheduler = nullptr;
};

/// The part of a pass to run: the tasks with these lags. The first passes from rest run lags from 0
/// up to as many as there are earlier steps; passes that drain the loop leave out the smallest
/// ones.
struct LagRange {
  int first = 0, last = 0;

  bool contains(int lag) const { return first <= lag && lag <= last; }
};

/// Not thread-safe: one run at a time. Borrows the graph.
class Executor final : public Work {
 public:
  /// Called on the device's own thread, as run and run_watched.
  Executor(const TaskGraph& graph, const ExecutorSetting& setting);

  /// Applies to the following runs.
  void set_lags(LagRange lags) { lags_ = lags; }
  /// Never allocates. An exception is also reported to the transport, so that peers stop waiting.
  void run() override;
  /// Runs a whole step, the tasks that lag last, and calls `after` after every compute task until
  /// it returns false; the rest of the step still runs, because peers wait for it. No tasks of
  /// earlier steps may be left.
  void run_watched(const std::function<bool(std::size_t task)>& after);

  /// Start and end of a task of this device, by its index in the graph, on the clock that all
  /// devices of the process share.
  struct TaskTimes {
    std::size_t task;
    std::int64_t start, end;  // nanoseconds
  };
  /// Times of the last complete pass, in which tasks that lag belong to earlier steps; or of the
  /// last step, if it ran from rest and was drained. Empty before the first. Start times are
  /// distinct and in the order in which the tasks ran.
  std::vector<TaskTimes> times() const;
  /// The times of the last run.
  StepLedger ledger() const;
  /// Memory of its messages in addition to the buffers that they move.
  Bytes message_bytes() const;

 private:
  struct Interval {
    std::int64_t start = 0, end = 0;  // nanoseconds
  };
  struct Entry {
    Kernel* kernel = nullptr;  ///< Of a compute task.
    std::vector<DevicePointer> operands{};
    DevicePointer scratch = nullptr;
    std::span<const std::int64_t> position{};  ///< Of the task, in the graph.
    Operation* operation = nullptr;            ///< Of a start or finish.
    TaskKind kind = TaskKind::compute;
    std::uint64_t urgency = 0;
    std::size_t task = 0;
    int lag = 0;
    Interval last{};           ///< Of its last run.
    Interval in_whole_pass{};  ///< Of the last whole pass.
    std::int64_t waited = 0;   ///< Of a finish: nanoseconds without a ready move, in its last run.
  };
  void run_entry(Entry& entry);
  /// Called after a run: if every task has run for it, keeps the times.
  void keep_whole_pass();
  /// Runs `step`; reports its exception to the peers and rethrows it.
  template <class Step>
  void run_for_peers(const Step& step);

  const TaskGraph& graph_;
  const DeviceId device_;
  MoveScheduler* const scheduler_;
  const int largest_lag_;  // on this device or another
  std::vector<std::unique_ptr<Operation>> operations_;
  std::vector<Entry> entries_;  // in the order of the loop
  LagRange lags_{0, largest_lag_};
  int under_way_ = 0;           // operations between their start and their finish
  bool lacks_lagging_ = false;  // the last pass that began a step ran without some lags
  bool has_whole_pass_ = false;
};

}  // namespace troika
