// How the threads of a rank share MPI: persistent requests, started and tested in one of the ways
// of MpiThreading.
#pragma once

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "comm/mpi/mpi_world.h"

namespace troika {

/// A persistent request; start and test take turns.
struct MpiRequest {
  MPI_Request handle = MPI_REQUEST_NULL;
  bool receives = false;
  bool is_active = false;  ///< In MPI's hands: used by who may call MPI for it.
  // Only the progress thread's:
  std::atomic<bool> done = true;
  std::exception_ptr error{};  ///< Written before `done`.
};

/// Thread-safe. Outlives the requests.
class MpiEngine {
 public:
  virtual ~MpiEngine() = default;

  virtual void add(MpiRequest& request) = 0;
  /// Also ends the request where the peer will never answer it.
  virtual void remove(MpiRequest& request) noexcept = 0;
  virtual void start(MpiRequest& request) = 0;
  virtual bool test(MpiRequest& request) = 0;
};

/// What all requests that are dropped one after the other may wait for MPI, together: of a run that
/// has failed hundreds are under way, and none of them will ever end. Used by one thread at a time.
class UnwindingTime {
 public:
  std::chrono::steady_clock::time_point limit();

 private:
  std::chrono::steady_clock::time_point limit_{};
};

/// Frees a request, also one that is under way: a receive is called back, so that it neither takes
/// a message that is meant for another nor writes into memory that has gone. What MPI does not give
/// back in time, because a peer died in the middle of it, stays with MPI.
void free_request(MpiRequest& request, UnwindingTime& time) noexcept;

/// Holds it where there is one.
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

/// `lock` guards all calls of MPI but for MpiThreading::multiple, which needs none.
std::unique_ptr<MpiEngine> make_direct_engine(std::mutex* lock);
std::unique_ptr<MpiEngine> make_thread_engine(std::mutex& lock);

}  // namespace troika
