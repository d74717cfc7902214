#include "runtime/executor.h"

#include <chrono>

#include "base/error.h"

namespace troika {
namespace {

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Kernel& KernelCache::get(const Task& task) {
  std::string name = to_text(task.key) + " " + task.choice.algorithm;
  for (Layout layout : task.choice.layouts) name += " " + std::string(to_string(layout));
  std::unique_ptr<Kernel>& kernel = kernels_[name];
  if (!kernel) {
    Candidate candidate{.algorithm = task.choice.algorithm,
                        .layouts = task.choice.layouts,
                        .scratch = task.choice.scratch};
    kernel = backend_.compile(task.key, candidate);
  }
  return *kernel;
}

Executor::Executor(const TaskGraph& graph, DeviceId device, KernelCache& kernels,
                   const std::function<DevicePointer(BufferId)>& address)
    : graph_(graph), device_(device) {
  for (std::size_t at = 0; at < graph.tasks.size(); ++at) {
    const Task& task = graph.tasks[at];
    if (task.device != device) continue;
    Launch launch{
        &kernels.get(task), {}, task.scratch.valid() ? address(task.scratch) : nullptr, at};
    for (const BufferUse& use : task.uses) launch.operands.push_back(address(use.buffer));
    launches_.push_back(std::move(launch));
  }
  clock_.resize(launches_.size() + 1);
}

void Executor::run() {
  clock_[0] = now();
  for (std::size_t at = 0; at < launches_.size(); ++at) {
    Launch& launch = launches_[at];
    launch.kernel->launch(launch.operands, launch.scratch);
    clock_[at + 1] = now();
  }
}

void Executor::run_task(std::size_t at) {
  for (Launch& launch : launches_) {
    if (launch.task == at) return launch.kernel->launch(launch.operands, launch.scratch);
  }
  throw Bug("the task runs on another device");
}

Timeline Executor::timeline() const {
  Timeline timeline;
  for (std::size_t at = 0; at < launches_.size(); ++at)
    timeline.spans.push_back({graph_.tasks[launches_[at].task].id,
                              device_,
                              {clock_[at] - clock_[0]},
                              {clock_[at + 1] - clock_[0]}});
  return timeline;
}

}  // namespace troika
