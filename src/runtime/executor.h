// Runs one device's share of a task graph: kernels compiled and pointers bound ahead, then a plain
// loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

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

/// Not thread-safe: one run at a time. Borrows the graph, the kernels and the memory.
class Executor final : public Work {
 public:
  /// `address` gives the memory of each buffer.
  Executor(const TaskGraph& graph, DeviceId device, KernelCache& kernels,
           const std::function<DevicePointer(BufferId)>& address);

  /// The whole step, on the device's own thread. Never allocates.
  void run() override;
  /// One task, by its place in the graph's list.
  void run_task(std::size_t at);

  /// When each task of the last run started and ended.
  Timeline timeline() const;

 private:
  struct Launch {
    Kernel* kernel;
    std::vector<DevicePointer> operands;
    DevicePointer scratch;
    std::size_t task;
  };
  const TaskGraph& graph_;
  DeviceId device_;
  std::vector<Launch> launches_;
  std::vector<std::int64_t>
      clock_;  // nanoseconds: clock_[i] is the start of launch i, clock_[i+1] its end
};

}  // namespace troika
