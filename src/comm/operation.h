// One member's part in a collective: the moves of its recipe, bound to memory and messages once and
// run once per round. It is passive: MoveScheduler decides when its moves run and on which thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "comm/arithmetic.h"
#include "comm/bound_moves.h"

namespace troika {

/// Every member of the group makes its own from the same recipe, hands it to its scheduler once per
/// round and waits for it there.
///
/// Threads: is_done and allocated may be called by any thread. The other functions are for the
/// scheduler, which calls them from one thread at a time.
/// Ownership: borrows the buffers and the transport. It must not be destroyed while its scheduler
/// runs it, that is between start and the end of wait, unless the scheduler has thrown or is gone.
/// Failure: begin and advance throw Error(peer) when a peer is lost; the round cannot be resumed.
/// Nothing allocates after construction.
class Operation {
 public:
  /// `chunk` limits the bytes that one call of advance handles, so that a more urgent operation
  /// waits no longer than that.
  Operation(const MemberRecipe& recipe, const Member& member, const MemberBuffers& buffers,
            const BindOptions& options, Transport& transport, Bytes chunk = Bytes{256 << 10});
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  ~Operation() = default;

  /// True before the first round and after each completed one.
  bool is_done() const { return done_.load(std::memory_order_acquire); }
  /// Host memory that it holds in addition to the buffers.
  Bytes allocated() const { return bound_.allocated(); }

  /// Opens a round: is_done turns false. The previous round must be done.
  void open_round();
  /// Offers the sends and loans that depend on no other move. Returns true if the round has no
  /// moves and is therefore done.
  bool begin();
  enum class Progress {
    blocked,  ///< No move was ready.
    moved,
    done,  ///< The round is complete; the device's thread may already have started the next one.
  };
  /// Runs ready moves, up to about one chunk.
  Progress advance();

 private:
  enum class Outcome { blocked, unfinished, done };

  void make_ready(std::uint32_t index);
  bool run_ready_moves();
  Outcome poll(BoundMove& move);
  Outcome run_chunk(BoundMove& move);
  void run_elements(BoundMove& move, std::int64_t count);
  void complete(const BoundMove& move);

  BoundMoves bound_;
  // Constant after construction.
  const Arithmetic arithmetic_;
  const Widening widening_;
  const std::int64_t chunk_;  // elements
  const std::int64_t element_size_;

  // State of the round, in vectors that keep their length.
  std::vector<std::uint32_t> blockers_;  // moves that a move still waits for
  std::vector<std::uint32_t>
      ready_;  // the first ready_count_: moves without blockers, oldest first
  std::size_t ready_count_ = 0;
  std::vector<std::byte*> vectors_;  // current address of each of bound_.uses
  std::size_t unfinished_ = 0;       // moves
  std::int64_t budget_ = 0;          // elements left of this chunk

  std::atomic<bool> done_{true};
};

}  // namespace troika
