// Starts, tests and frees persistent requests for the threads of a rank, under a lock if
// MpiThreading asks for one.
#pragma once

#include <mpi.h>

#include <chrono>
#include <mutex>
#include <optional>

#include "base/mutex.h"

namespace troika {

/// Throws Error(peer) with MPI's own explanation unless `status` is MPI_SUCCESS.
void check_mpi(int status, const char* call);

/// Locks `lock` unless it is null. A std::mutex, because the thread-safety analysis cannot follow a
/// lock that may be absent.
inline std::unique_lock<std::mutex> hold(std::mutex* lock) {
  return lock == nullptr ? std::unique_lock<std::mutex>{} : std::unique_lock(*lock);
}
/// The same without waiting: empty while another thread is in MPI. A caller that only polls tries
/// again later.
inline std::optional<std::unique_lock<std::mutex>> try_hold(std::mutex* lock) {
  if (lock == nullptr) return std::unique_lock<std::mutex>{};
  std::unique_lock held(*lock, std::try_to_lock);
  if (!held) return std::nullopt;
  return held;
}

/// A persistent request; start, then test until it returns true.
struct MpiRequest {
  MPI_Request handle = MPI_REQUEST_NULL;
  bool receives = false;
  bool is_active = false;  ///< Started and not yet complete.
};

/// Called by every device's thread. Thread-safe. Outlives the requests.
class MpiEngine {
 public:
  /// `lock` guards all calls of MPI; null for MpiThreading::multiple.
  explicit MpiEngine(std::mutex* lock) : lock_(lock) {}

  void start(MpiRequest& request);
  bool test(MpiRequest& request);
  /// Frees a request, also an active one: a receive is cancelled, so that it neither takes a
  /// message meant for another request nor writes into freed memory. If a peer died in the middle
  /// of a message, MPI may not complete the request in time; it then stays with MPI.
  void remove(MpiRequest& request) noexcept;

 private:
  /// The time until which a request may wait for its end. All requests that are removed one after
  /// the other share it: a failed run removes hundreds, none of which will ever complete.
  std::chrono::steady_clock::time_point unwinding_limit();

  std::mutex* const lock_;
  Mutex unwinding_;
  std::chrono::steady_clock::time_point limit_ TROIKA_GUARDED_BY(unwinding_){};
};

}  // namespace troika
