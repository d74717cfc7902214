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
/// them. Made, used and destroyed by the thread that leads the team; a thread has one at a time.
class TeamPlacement {
 public:
  explicit TeamPlacement(int threads);
  TeamPlacement(const TeamPlacement&) = delete;
  TeamPlacement& operator=(const TeamPlacement&) = delete;
  ~TeamPlacement();

  /// Places the threads of the calling thread's team that have no cores of their own yet. libgomp
  /// ends threads when a library runs a smaller team; the threads that it starts later inherit the
  /// cores of the leading thread. Called after each launch of a library's kernel: it costs one load
  /// if no thread has ended, and does nothing on a thread without a TeamPlacement.
  static void renew();

 private:
  void place();

  const int threads_;
  const std::optional<cpu_set_t> cores_;  ///< Of the process; empty: threads are not placed.
  /// Shared with the threads, which may end after this object.
  const std::shared_ptr<std::atomic<bool>> has_lost_threads_;
};

}  // namespace troika
