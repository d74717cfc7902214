#include "runtime/executor.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace troika {
namespace {

/// Limit of running moves between two kernels: a few chunks, short against a kernel.
constexpr std::chrono::microseconds kBetweenKernels{100};

/// Nanoseconds on the clock that all devices of the process share.
std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

// Key, algorithm and layouts together identify the compiled code.
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

Executor::Executor(const TaskGraph& graph, const ExecutorSetting& setting)
    : graph_(graph),
      device_(setting.device),
      scheduler_(setting.scheduler),
      largest_lag_(largest_lag(graph)) {
  // The start and the finish of a communication share one operation.
  std::map<CommunicationId, Operation*> operations;
  // Binds the tasks in the order of a whole pass. A run of only some lags keeps this order and
  // skips the others' entries.
  for (std::size_t at : loop_order(graph)) {
    const Task& task = graph.tasks[at];
    if (task.device != device_) continue;
    Entry entry{.kind = task.kind, .task = at, .lag = task.lag};
    if (task.computes()) {
      entry.kernel = &setting.kernels.get(task);
      entry.position = task.position;
      if (task.scratch.valid()) entry.scratch = setting.address(task.scratch);
      for (const BufferUse& use : task.uses) entry.operands.push_back(setting.address(use.buffer));
    } else {
      Operation*& operation = operations[task.communication];
      if (operation == nullptr) {
        operations_.push_back(setting.operation(task.communication, task.member));
        operation = operations_.back().get();
      }
      entry.operation = operation;
      entry.urgency = graph[task.communication].urgency;
    }
    entries_.push_back(std::move(entry));
  }
}

void Executor::run_entry(Entry& entry) {
  switch (entry.kind) {
    case TaskKind::compute:
      entry.kernel->launch(entry.operands, entry.scratch, entry.position);
      // Messages advance between kernels, also without a background thread.
      if (under_way_ > 0) scheduler_->advance(kBetweenKernels);
      return;
    case TaskKind::start:
      ++under_way_;
      return scheduler_->start(*entry.operation, entry.urgency);
    case TaskKind::finish:
      entry.waited = scheduler_->wait(*entry.operation).count();
      --under_way_;
      return;
  }
}

// Peers cannot see why a message does not come, so the reason is sent to them before the exception
// leaves this device.
template <class Step>
void Executor::run_for_peers(const Step& step) {
  try {
    step();
  } catch (const std::exception& error) {
    if (scheduler_ != nullptr)
      scheduler_->transport().fail(
          fmt::format("device {} has failed: {}", device_.value, error.what()),
          exit_code_of(error));
    throw;
  }
}

void Executor::run() {
  run_for_peers([&] {
    std::int64_t before = now();
    for (Entry& entry : entries_) {
      if (!lags_.contains(entry.lag)) continue;
      run_entry(entry);
      // Strictly later than the previous one, even on a coarse clock, so that times give the order.
      std::int64_t after = std::max(now(), before + 1);
      entry.last = {before, after};
      before = after;
    }
  });
  keep_whole_pass();
}

void Executor::keep_whole_pass() {
  bool begins_step = lags_.first == 0, has_most = lags_.last == largest_lag_;
  // A step from rest is complete once its most lagging tasks have run on their own.
  bool is_drained = lags_.first == largest_lag_ && lacks_lagging_;
  if (begins_step) lacks_lagging_ = !has_most;
  if (!is_drained && !(begins_step && has_most)) return;
  lacks_lagging_ = false;
  for (Entry& entry : entries_) entry.in_whole_pass = entry.last;
  has_whole_pass_ = true;
}

void Executor::run_watched(const std::function<bool(std::size_t)>& after) {
  run_for_peers([&] {
    // One lag after the other, so that all tasks belong to one step, unlike in a loop of steps.
    // Once `after` has returned false the rest runs unwatched.
    bool watched = true;
    for (int lag = 0; lag <= largest_lag_; ++lag) {
      for (Entry& entry : entries_) {
        if (entry.lag != lag) continue;
        run_entry(entry);
        if (watched && entry.kind == TaskKind::compute) watched = after(entry.task);
      }
    }
  });
}

StepLedger& StepLedger::operator+=(const StepLedger& more) {
  compute += more.compute;
  optimizer += more.optimizer;
  moving += more.moving;
  waiting += more.waiting;
  data += more.data;
  other += more.other;
  return *this;
}

Bytes Executor::message_bytes() const {
  Bytes total;
  for (const auto& operation : operations_) total += operation->allocated();
  return total;
}

std::vector<Executor::TaskTimes> Executor::times() const {
  std::vector<TaskTimes> times;
  if (!has_whole_pass_) return times;
  for (const Entry& entry : entries_)
    times.push_back({entry.task, entry.in_whole_pass.start, entry.in_whole_pass.end});
  return times;
}

// A finish either runs moves or waits for peers; the scheduler reports the second part. The
// minimum keeps the parts' sum exact even if the two measurements differ.
StepLedger Executor::ledger() const {
  StepLedger ledger;
  for (const Entry& entry : entries_) {
    if (!lags_.contains(entry.lag)) continue;
    std::chrono::nanoseconds took{entry.last.end - entry.last.start};
    if (entry.kind == TaskKind::compute) {
      (graph_.tasks[entry.task].is_update ? ledger.optimizer : ledger.compute) += took;
    } else if (entry.kind == TaskKind::start) {
      ledger.other += took;
    } else {
      std::chrono::nanoseconds waited{std::min(entry.waited, took.count())};
      ledger.waiting += waited;
      ledger.moving += took - waited;
    }
  }
  return ledger;
}

}  // namespace troika
