// The cores on which the threads of an OpenMP team run.
#pragma once

#include <sched.h>

#include <atomic>
#include <memory>
#include <optional>

namespace troika {

/// Gives each thread of a team a share of the cores that the process may use: thread t of n gets
/// every n-th core from core t on. The scheduler otherwise tends to wake several threads of a team
/// on one core, where they wait for each other. Shares instead of single cores let runs with
/// smaller teams avoid each other on one node.
///
/// Places no thread if the team is larger than the number of cores, or if OMP_PROC_BIND has placed
/// them. All calls come from the thread that leads the team.
class TeamPlacement {
 public:
  explicit TeamPlacement(int threads);

  /// Places the threads that OpenMP has started since the last call. libgomp ends threads when a
  /// library runs a smaller team; the threads that it starts later inherit the cores of the leading
  /// thread. Call it between pieces of work: it costs one load if no thread has ended.
  void renew() {
    if (has_lost_threads_->load(std::memory_order_relaxed)) place();
  }

 private:
  void place();

  const int threads_;
  const std::optional<cpu_set_t> cores_;  ///< Of the process; empty: threads are not placed.
  /// Shared with the threads, which may end after this object.
  const std::shared_ptr<std::atomic<bool>> has_lost_threads_;
};

}  // namespace troika
