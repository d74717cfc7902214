// One member's part in a collective, prepared once and started once per step.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "comm/arithmetic.h"
#include "comm/bound_moves.h"
#include "comm/move_progress.h"

namespace troika {

/// Prepared by every member of the group; started by each once per round, in any order among
/// operations. Used by one thread, that of the device; in between the moves may be run by the
/// progress's own thread. Nothing allocates after construction. A lost peer makes test and wait
/// throw Error(peer).
class Operation {
 public:
  /// Borrows the progress and the buffers. Large moves are interrupted after each `chunk` for more
  /// urgent ones.
  Operation(MoveProgress& progress, const MemberRecipe& recipe, const Member& member,
            const MemberBuffers& buffers, const BindOptions& options,
            Bytes chunk = Bytes{256 << 10});
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  /// Not while it is under way, unless a wait has thrown.
  ~Operation();

  /// The vector holds this member's contribution. Of operations under way the one of greatest
  /// urgency goes first, among equals the one started first. Sends and loans are offered at once;
  /// other moves wait for test, wait or the progress's own thread.
  void start(int urgency = 0);
  /// Runs a chunk, if one is ready; whether the operation is done.
  bool test();
  /// The same without running anything. Any thread may ask.
  bool is_done() const { return done_.load(std::memory_order_acquire); }
  /// Returns when the operation is done; until then runs what is ready, also of other operations.
  void wait();

  /// Host memory that it holds beside the buffers.
  Bytes allocated() const { return bound_.allocated(); }

  /// Time inside wait with nothing to run, since construction; each wait's first fraction of a
  /// microsecond is left out.
  std::chrono::nanoseconds waited() const { return waited_; }

 private:
  friend class MoveProgress;
  enum class Outcome { blocked, unfinished, done };

  // The functions below are for who has the progress's turn.
  void open_first();
  void open(std::uint32_t index);
  /// Runs what is ready, up to about a chunk. Whether there was anything.
  bool advance();
  Outcome poll(BoundMove& move);
  Outcome run_chunk(BoundMove& move);
  void run_elements(BoundMove& move, std::int64_t count);
  void finish(BoundMove& move);

  MoveProgress& progress_;
  BoundMoves bound_;  // used by who has the turn
  // Constant after construction.
  const Arithmetic arithmetic_;
  const Widening widening_;
  const std::int64_t chunk_;  // elements
  const std::int64_t element_size_;

  // Used by who has the turn.
  std::vector<std::uint32_t> blockers_;  // not yet done, per move
  std::vector<std::uint32_t> open_;      // moves whose blockers are done, in that order
  std::size_t open_count_ = 0;
  std::vector<std::byte*> vectors_;  // where each of bound_.uses is now
  std::size_t unfinished_ = 0;       // moves
  std::int64_t budget_ = 0;          // elements until the end of the chunk
  int urgency_ = 0;
  std::uint64_t number_ = 0;  // of the start, on this device
  Operation* next_handed_over_ = nullptr;

  std::atomic<bool> done_{true};
  std::chrono::nanoseconds waited_{0};  // used by the device's thread
};

}  // namespace troika
