// Threads that share the items of one piece of work.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace troika::data {

/// Called with the item and with the number of the thread, which is below WorkerTeam::threads().
using WorkOnItem = std::function<void(std::int64_t item, std::size_t thread)>;

/// The threads sleep while there is nothing to do. One caller at a time.
class WorkerTeam {
 public:
  /// The caller of run() is one of the threads; below 1 counts as 1.
  explicit WorkerTeam(int threads);
  WorkerTeam(const WorkerTeam&) = delete;
  WorkerTeam& operator=(const WorkerTeam&) = delete;

  std::size_t threads() const { return helpers_.size() + 1; }

  /// Calls work(item, thread) for each item in [0, count) and returns when all are done. If items
  /// fail, rethrows the error of the one with the lowest index, whatever the number of threads, and
  /// may skip items after it.
  void run(std::int64_t count, const WorkOnItem& work);

 private:
  void help(const std::stop_token& stop, std::size_t thread);
  void take_items(std::size_t thread);

  // Constant while the threads work on a round.
  const WorkOnItem* work_ = nullptr;
  std::int64_t count_ = 0;

  std::atomic<std::int64_t> next_{0};  // The lowest item that no thread has taken.
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::int64_t round_ TROIKA_GUARDED_BY(mutex_) = 0;
  std::size_t busy_ TROIKA_GUARDED_BY(mutex_) = 0;      // Helpers that have not finished the round.
  std::int64_t failed_ TROIKA_GUARDED_BY(mutex_) = 0;   // The lowest item that failed.
  std::exception_ptr error_ TROIKA_GUARDED_BY(mutex_);  // Of that item.

  std::vector<std::jthread> helpers_;  // Last member: they must end before the members they use.
};

}  // namespace troika::data
