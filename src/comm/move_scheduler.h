// Runs the moves of all operations that have been started on one device, the most urgent ready move
// first. Moves never block, so the members of a group may start operations in different orders.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "comm/backoff.h"
#include "comm/doorbell.h"
#include "comm/operation.h"
#include "comm/transport.h"

namespace troika {

/// A background thread that runs moves while the device's thread computes. It sleeps when no
/// operation is under way.
enum class MoverThread {
  none,
  own_core,  ///< For computers with cores that no device uses.
  /// It takes time from the device, so it polls only now and then: for messages over a network,
  /// which would otherwise stop during a long kernel.
  shared_core,
};

struct MoveSchedulerOptions {
  MoverThread thread = MoverThread::none;
};

/// Threads: used by one thread, that of the device. The background thread, if there is one, runs
/// moves only while the device's thread is outside of these functions.
/// Ownership: borrows the transport, and each operation from start until it is done.
/// Failure: an exception of a move, also of one that ran on the background thread, is kept. All
/// operations are then dropped, none of them becomes done, and later calls throw that exception; a
/// start that is handed over to the background thread throws it in its wait.
/// Allocation: only when more operations are under way than ever before, and more than 64.
class MoveScheduler {
 public:
  MoveScheduler(Transport& transport, DeviceId device, MoveSchedulerOptions options = {});
  MoveScheduler(const MoveScheduler&) = delete;
  MoveScheduler& operator=(const MoveScheduler&) = delete;
  /// Drops operations that are under way.
  ~MoveScheduler();

  Transport& transport() const { return transport_; }
  DeviceId device() const { return device_; }

  /// Starts a round of the operation, whose vector holds this member's contribution. Of operations
  /// under way the one of greatest urgency goes first, among equals the one started first. Sends
  /// and loans are offered at once; other moves run in advance, in wait or on the background
  /// thread.
  void start(Operation& operation, std::uint64_t urgency = 0);
  /// Runs ready chunks of any operation under way: one, and further ones until `budget` has passed
  /// or nothing is ready. To be called between two pieces of the device's own work. Returns true if
  /// anything was run; false also while the background thread runs moves.
  bool advance(std::chrono::nanoseconds budget = {});
  /// Returns when the operation is done; until then runs ready moves of all operations. Returns the
  /// time during which no move was ready, without the first fraction of a microsecond.
  std::chrono::nanoseconds wait(const Operation& operation);

 private:
  class Turn;
  /// An operation under way.
  struct Running {
    Operation* operation;
    std::uint64_t urgency;
    std::uint64_t number;  // of the start, on this device
  };

  // The turn is the right to run moves. The device's thread has it, or the background thread until
  // the device's thread wants it.
  bool try_take_turn();
  void take_turn();
  void leave_turn();

  // Called by the thread that has the turn.
  template <class Body>
  void run_or_fail(const Body& body);
  void fail() noexcept;
  void rethrow_failure() const;
  bool run_ready();
  void insert(const Running& running);
  void insert_handed_over();
  void count_done();
  bool back_off(Backoff& backoff);
  CoreDemand core_demand() const;

  void hand_over(const Running& running);
  void run_thread(const std::stop_token& stop);
  void run_while_free(const std::stop_token& stop);
  void run_now_and_then(const std::stop_token& stop);

  // Constant after construction.
  Transport& transport_;
  const DeviceId device_;
  Doorbell* const doorbell_;  // null: nobody rings, so waits poll
  const int cores_;           // that this process may use
  const int cores_of_machine_;
  const bool has_thread_, shares_core_;

  // Guarded by the turn.
  std::vector<Running> running_;   // most urgent first
  std::vector<Running> arriving_;  // empty but for its memory, outside of insert_handed_over
  std::exception_ptr failure_;

  // Used by the device's thread.
  Backoff backoff_;
  std::uint64_t starts_ = 0;

  // Shared.
  std::atomic<bool> is_taken_{false};   // the turn
  std::atomic<bool> is_wanted_{false};  // the turn, by the device's thread
  std::atomic<int> unfinished_{0};      // operations; counted only if there is a background thread
  std::atomic<bool> has_handed_over_{false};
  Mutex mutex_;  // held for one push or swap only; taken with or without the turn
  std::vector<Running> handed_over_ TROIKA_GUARDED_BY(mutex_);  // in the order of their starts
  Doorbell thread_doorbell_;
  std::jthread thread_;  // last: it uses the members above
};

}  // namespace troika
