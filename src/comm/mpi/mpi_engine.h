// How the threads of a rank share MPI: persistent requests, started and tested as MpiThreading
// says.
#pragma once

#include <mpi.h>

#include <chrono>
#include <mutex>
#include <optional>

#include "base/mutex.h"

namespace troika {

/// Holds it where there is one. Not a Mutex: the analysis cannot follow a lock that may be absent.
inline std::unique_lock<std::mutex> hold(std::mutex* lock) {
  return lock == nullptr ? std::unique_lock<std::mutex>{} : std::unique_lock(*lock);
}
/// The same, but empty when another thread is in MPI: who only looks need not wait, and looks
/// later.
inline std::optional<std::unique_lock<std::mutex>> try_hold(std::mutex* lock) {
  if (lock == nullptr) return std::unique_lock<std::mutex>{};
  std::unique_lock held(*lock, std::try_to_lock);
  if (!held) return std::nullopt;
  return held;
}

/// A persistent request; start and test take turns.
struct MpiRequest {
  MPI_Request handle = MPI_REQUEST_NULL;
  bool receives = false;
  bool is_active = false;  ///< In MPI's hands.
};

/// Every device's thread calls MPI itself, at once or one at a time. Thread-safe. Outlives the
/// requests.
class MpiEngine {
 public:
  /// `lock` guards all calls of MPI but for MpiThreading::multiple, which needs none.
  explicit MpiEngine(std::mutex* lock) : lock_(lock) {}

  void start(MpiRequest& request);
  bool test(MpiRequest& request);
  /// Frees a request, also one that is under way: a receive is called back, so that it neither
  /// takes a message that is meant for another nor writes into memory that has gone. What MPI does
  /// not give back in time, because a peer died in the middle of it, stays with MPI.
  void remove(MpiRequest& request) noexcept;

 private:
  /// What all requests that are dropped one after the other may wait for MPI, together: of a run
  /// that has failed hundreds are under way, and none of them will ever end.
  std::chrono::steady_clock::time_point unwinding_limit();

  std::mutex* const lock_;
  Mutex unwinding_;
  std::chrono::steady_clock::time_point limit_ TROIKA_GUARDED_BY(unwinding_){};
};

}  // namespace troika
