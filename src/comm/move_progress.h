// Runs the moves of all operations that are under way on one device, the most urgent ready one
// first. Moves never block, so operations may be started in any order on the members.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

#include "comm/bell.h"
#include "comm/patience.h"
#include "comm/transport.h"

namespace troika {

class Operation;

struct MoveProgressOptions {
  /// A thread that runs moves while the device's own thread is busy with something else. It sleeps
  /// when nothing is under way.
  bool has_thread = false;
};

/// Used by one thread, that of the device. Outlives its operations, outlived by the transport.
class MoveProgress {
 public:
  MoveProgress(Transport& transport, DeviceId device, MoveProgressOptions options = {});
  MoveProgress(const MoveProgress&) = delete;
  MoveProgress& operator=(const MoveProgress&) = delete;
  ~MoveProgress();

  Transport& transport() const { return transport_; }
  DeviceId device() const { return device_; }

  /// Runs ready chunks of any operation under way, the most urgent first: one, and further ones
  /// until `budget` has passed or nothing is ready. For the device's thread between two pieces of
  /// its own work. Whether anything was run; false, too, while the progress's own thread is at it.
  /// Throws what a wait would.
  bool advance(std::chrono::nanoseconds budget = {});

 private:
  friend class Operation;
  class Turn;

  // For operations, on the device's thread.
  void make_room();
  void forget(Operation& operation);
  void start(Operation& operation);
  bool test(Operation& operation);
  void wait(Operation& operation);

  // Who runs moves has the turn: the device's thread, or our own until the device's wants it.
  bool try_take_turn();
  void take_turn();
  void leave_turn();

  // For who has the turn.
  bool run_ready();
  void insert(Operation& operation);
  void insert_handed_over();
  /// The operation's last moment here: the device's thread may start it again at once.
  void finish(Operation& operation);
  void count_finished();
  /// Lets time pass. Whether something moved meanwhile.
  bool rest(Patience& patience);
  void rethrow_failure();

  void run_thread(const std::stop_token& stop);
  void run_while_free(const std::stop_token& stop);

  // Constant after construction.
  Transport& transport_;
  const DeviceId device_;
  Bell* const bell_;  // null: nobody rings
  const int cores_;   // that this process may use
  const bool has_thread_;

  // Guarded by the turn.
  std::vector<Operation*> underway_;  // most urgent first
  std::exception_ptr failure_;

  // Used by the device's thread.
  Patience patience_;
  std::size_t operations_ = 0;
  std::uint64_t starts_ = 0;

  // Shared.
  std::atomic<bool> is_taken_{false};
  std::atomic<bool> is_wanted_{false};            // by the device's thread
  std::atomic<int> unfinished_{0};                // operations
  std::atomic<Operation*> handed_over_{nullptr};  // started while the other thread had the turn
  Bell thread_bell_;
  std::jthread thread_;  // last: it uses the members above
};

}  // namespace troika
