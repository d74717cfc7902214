#include "data/worker_team.h"

#include <utility>

namespace troika::data {

WorkerTeam::WorkerTeam(int threads) {
  for (int thread = 1; thread < threads; ++thread)
    helpers_.emplace_back([this, thread](const std::stop_token& stop) {
      help(stop, static_cast<std::size_t>(thread));
    });
}

void WorkerTeam::run(std::int64_t count, const WorkOnItem& work) {
  {
    Lock lock(mutex_);
    work_ = &work;
    count_ = count;
    next_ = 0;
    // Above every item, so that the first failure is lower.
    failed_ = count;
    error_ = nullptr;
    busy_ = helpers_.size();
    ++round_;
  }
  changed_.notify_all();
  // The caller works too. With one thread there is no waiting and no switch at all.
  take_items(0);
  Lock lock(mutex_);
  // All helpers must leave the round before `work` goes out of scope, even those that got no item.
  changed_.wait(lock, [&]() TROIKA_REQUIRES(mutex_) { return busy_ == 0; });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void WorkerTeam::help(const std::stop_token& stop, std::size_t thread) {
  // `done` counts rounds instead of a flag that is reset: run() waits for all helpers, so none can
  // miss a round or join one twice.
  for (std::int64_t done = 0;; ++done) {
    {
      Lock lock(mutex_);
      if (!changed_.wait(lock, stop, [&]() TROIKA_REQUIRES(mutex_) { return round_ > done; }))
        return;
    }
    take_items(thread);
    Lock lock(mutex_);
    if (--busy_ == 0) changed_.notify_all();
  }
}

void WorkerTeam::take_items(std::size_t thread) {
  // Items are taken in order, so all below one that failed have been taken, and will be finished.
  for (std::int64_t item = next_++; item < count_; item = next_++) {
    try {
      (*work_)(item, thread);
    } catch (...) {
      Lock lock(mutex_);
      if (item < failed_) {
        failed_ = item;
        error_ = std::current_exception();
      }
      // Ends the round early. An item that another thread takes meanwhile is still finished.
      next_ = count_;
    }
  }
}

}  // namespace troika::data
