// Runs one device's share of a task graph: kernels compiled, messages prepared and pointers bound
// ahead, then a plain loop.
#pragma once

#include <chrono>
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

/// Kernels by key and choice; tasks of equal keys share one. Used from one device's thread.
class KernelCache {
 public:
  explicit KernelCache(const Backend& backend) : backend_(backend) {}
  Kernel& get(const Task& task);
  std::size_t size() const { return kernels_.size(); }

 private:
  const Backend& backend_;
  std::map<std::string, std::unique_ptr<Kernel>> kernels_;
};

/// Where the time of a step went on one device; the parts add up to the whole.
struct StepLedger {
  std::chrono::nanoseconds compute{}, optimizer{};
  std::chrono::nanoseconds moving{};   ///< Running moves with nothing else to do.
  std::chrono::nanoseconds waiting{};  ///< For a peer.
  std::chrono::nanoseconds data{};     ///< For samples; known to who loads them.
  std::chrono::nanoseconds other{};    ///< Starting messages, reading clocks, handing over.

  std::chrono::nanoseconds total() const {
    return compute + optimizer + moving + waiting + data + other;
  }
  StepLedger& operator+=(const StepLedger& more);
};

/// What an executor works with. All borrowed.
struct ExecutorSetting {
  DeviceId device;
  KernelCache& kernels;
  const std::function<DevicePointer(BufferId)>& address;
  /// Makes this device's part in a communication.
  const std::function<std::unique_ptr<Operation>(CommunicationId, int member)>& operation;
  /// Runs this device's moves; its transport is told when this device cannot go on. Null: the
  /// device is alone.
  MoveScheduler* scheduler = nullptr;
};

/// What of a loop is run: a step, with what the step before has left; only one of the two.
enum class LoopPart { step_and_carried, step, carried };

/// Not thread-safe: one run at a time. Borrows the graph.
class Executor final : public Work {
 public:
  /// On the device's own thread.
  Executor(const TaskGraph& graph, const ExecutorSetting& setting);

  /// What the next runs run.
  void set_part(LoopPart part) { part_ = part; }
  /// On the device's own thread. Never allocates.
  void run() override;
  /// The whole step with its own carried tasks, calling `after` behind every compute task, until it
  /// says stop; the rest of the step runs all the same, because peers wait for it. Nothing may be
  /// left of the step before.
  void run_watched(const std::function<bool(std::size_t task)>& after);

  /// When each task of this device started and ended, by its place in the graph's list; on the
  /// clock that all devices of the process share.
  struct TaskTimes {
    std::size_t task;
    std::int64_t start, end;  // nanoseconds
  };
  /// Times of the last complete step: its tasks plus the carried tasks of the step before, or its
  /// own carried tasks if those ran apart. Empty before the first. Read from the clock as the tasks
  /// ran, so of two tasks the one that ran first starts first.
  std::vector<TaskTimes> times() const;
  /// Of the last run.
  StepLedger ledger() const;
  /// What its messages hold beside the buffers that they move.
  Bytes message_bytes() const;

 private:
  struct Moment {
    std::int64_t start = 0, end = 0;  // nanoseconds
  };
  struct Entry {
    Kernel* kernel = nullptr;  ///< Of a compute task,
    std::vector<DevicePointer> operands{};
    DevicePointer scratch = nullptr;
    Operation* operation = nullptr;  ///< or of a start or finish.
    TaskKind kind = TaskKind::compute;
    int urgency = 0;
    std::size_t task = 0;
    bool carried = false;
    Moment last{};            ///< When it ran last,
    Moment in_whole_step{};   ///< and when in the last whole step.
    std::int64_t waited = 0;  ///< When it ran last, of the finish.
  };
  bool is_in_part(const Entry& entry) const {
    return part_ == LoopPart::step_and_carried || entry.carried == (part_ == LoopPart::carried);
  }
  void run_entry(Entry& entry);
  /// After a run: notes whether a whole step is there, and keeps its times.
  void keep_whole_step();
  /// Runs `step`; what it throws is told to those who wait for this device.
  template <class Step>
  void run_for_peers(const Step& step);

  const TaskGraph& graph_;
  const DeviceId device_;
  MoveScheduler* const scheduler_;
  const bool carries_;  // some task, be it of another device, is carried
  std::vector<std::unique_ptr<Operation>> operations_;
  std::vector<Entry> entries_;  // as a loop runs them
  LoopPart part_ = LoopPart::step_and_carried;
  int under_way_ = 0;           // operations between their start and their finish
  bool lacks_carried_ = false;  // the last run was a step without the carried tasks
  bool has_whole_step_ = false;
};

}  // namespace troika
