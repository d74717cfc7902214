// Data-flow execution: each move counts the moves that it still waits for, and is ready at zero.
// Ready moves are polled, oldest first; completing one counts down its dependents.
#include "comm/operation.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace troika {
namespace {

using Kind = BoundMove::Kind;

/// Only 16-bit vectors are widened; other types never use it.
Widening widening_or_none(DType dtype) {
  return size_of(dtype).count == 2 ? widening_of(dtype) : Widening{};
}

}  // namespace

// All memory is allocated here; a round only resets counters and flags.
Operation::Operation(const MemberRecipe& recipe, const Member& member, const MemberBuffers& buffers,
                     const BindOptions& options, Transport& transport, Bytes chunk)
    : bound_(bind(recipe, member, buffers, options, transport)),
      arithmetic_(arithmetic_of(bound_.dtype, options.rule)),
      widening_(widening_or_none(options.dtype)),
      chunk_(std::max<std::int64_t>(1, chunk.count / size_of(options.dtype).count)),
      element_size_(size_of(bound_.dtype).count),
      blockers_(bound_.moves.size()),
      ready_(bound_.moves.size()),
      vectors_(bound_.uses.size()) {}

void Operation::open_round() {
  TROIKA_CHECK(is_done(), "an operation was started again before it was waited for");
  // Relaxed: other threads learn of the round when the scheduler hands the operation to them.
  done_.store(false, std::memory_order_relaxed);
}

bool Operation::begin() {
  unfinished_ = bound_.moves.size();
  if (unfinished_ == 0) {
    done_.store(true, std::memory_order_release);
    return true;
  }
  // bound_.blockers stays as it is; the copy counts down during this round.
  std::memcpy(blockers_.data(), bound_.blockers.data(), blockers_.size() * sizeof(blockers_[0]));
  ready_count_ = 0;
  // Each receive_reduce has its own receive buffer, which is free between rounds, so the message
  // may arrive before the moves that it will be combined with are done.
  for (BoundMove& move : bound_.moves)
    if (move.kind == Kind::receive_reduce) move.incoming->start();
  for (std::uint32_t at = 0; at < blockers_.size(); ++at)
    if (bound_.blockers[at] == 0) make_ready(at);
  return false;
}

// Messages start here, as soon as nothing blocks them: bytes then travel while other moves run.
// Borrowed memory has an address only now, because the loan has arrived before.
void Operation::make_ready(std::uint32_t index) {
  BoundMove& move = bound_.moves[index];
  ready_[ready_count_++] = index;
  switch (move.kind) {
    case Kind::send:
      return move.outgoing->start();
    case Kind::receive:
    case Kind::borrow:
      return move.incoming->start();
    case Kind::copy:
    case Kind::reduce: {
      auto address = [&](int borrow) {
        return bound_.borrows[static_cast<std::size_t>(borrow)].address;
      };
      if (move.to_borrow >= 0) move.to = address(move.to_borrow) + move.to_start;
      if (move.from_borrow >= 0) move.from = address(move.from_borrow) + move.from_start;
      return;
    }
    case Kind::reduce_both:
      for (std::uint32_t at = move.first_use; at < move.first_use + move.uses; ++at) {
        const VectorUse& use = bound_.uses[at];
        vectors_[at] =
            use.own != nullptr
                ? use.own
                : bound_.borrows[static_cast<std::size_t>(use.borrow)].address + use.start;
      }
      return;
    case Kind::receive_reduce:
    case Kind::give_back:
    case Kind::widen:
    case Kind::narrow:
    case Kind::divide:
      return;
  }
}

Operation::Progress Operation::advance() {
  if (!run_ready_moves()) return Progress::blocked;
  if (unfinished_ > 0) return Progress::moved;
  // The last access: from here on the device's thread may destroy or restart the operation.
  done_.store(true, std::memory_order_release);
  return Progress::done;
}

// Polls the ready moves, oldest first, until the budget is spent, and keeps those that are not done
// in their order. Moves that become ready meanwhile are appended and polled in the same call.
bool Operation::run_ready_moves() {
  budget_ = chunk_;
  bool moved = false;
  std::size_t kept = 0, at = 0;
  for (; at < ready_count_ && budget_ > 0; ++at) {
    std::uint32_t index = ready_[at];
    Outcome outcome = poll(bound_.moves[index]);
    moved |= outcome != Outcome::blocked;
    if (outcome == Outcome::done) {
      complete(bound_.moves[index]);
    } else {
      ready_[kept++] = index;
    }
  }
  // Closes the gap that completed moves have left before those that the budget did not reach.
  if (kept != at) {
    std::copy(ready_.begin() + static_cast<std::ptrdiff_t>(at),
              ready_.begin() + static_cast<std::ptrdiff_t>(ready_count_),
              ready_.begin() + static_cast<std::ptrdiff_t>(kept));
    ready_count_ -= at - kept;
  }
  return moved;
}

Operation::Outcome Operation::poll(BoundMove& move) {
  switch (move.kind) {
    case Kind::send:
      return move.outgoing->done() ? Outcome::done : Outcome::blocked;
    case Kind::borrow: {
      // Kept for the moves that use the loan; make_ready turns it into their addresses.
      std::byte* address = move.incoming->arrived();
      bound_.borrows[static_cast<std::size_t>(move.borrow)].address = address;
      return address != nullptr ? Outcome::done : Outcome::blocked;
    }
    case Kind::give_back:
      move.incoming->finish();
      return Outcome::done;
    case Kind::receive:
    case Kind::receive_reduce: {
      // Asked once per round: later chunks continue in the same memory.
      if (move.done == 0) move.from = move.incoming->arrived();
      if (move.from == nullptr) return Outcome::blocked;
      Outcome outcome = run_chunk(move);
      // If memory is shared, this is when the sender may overwrite it.
      if (outcome == Outcome::done) move.incoming->finish();
      return outcome;
    }
    case Kind::copy:
    case Kind::reduce:
    case Kind::reduce_both:
    case Kind::widen:
    case Kind::narrow:
    case Kind::divide:
      return run_chunk(move);
  }
  throw Bug("unknown kind of move");
}

// Runs as many elements as the budget allows; `done` keeps the position for the next call.
Operation::Outcome Operation::run_chunk(BoundMove& move) {
  std::int64_t count = std::min(move.count - move.done, budget_);
  if (count > 0) run_elements(move, count);
  budget_ -= count;
  move.done += count;
  if (move.done < move.count) return Outcome::unfinished;
  // Ready for the next round.
  move.done = 0;
  return Outcome::done;
}

void Operation::run_elements(BoundMove& move, std::int64_t count) {
  std::int64_t start = move.done * element_size_;
  std::byte* to = move.to + start;
  const std::byte* from = move.from + start;
  switch (move.kind) {
    case Kind::copy:
    case Kind::receive:
      // Equal if MPI has received the message at its destination.
      if (to != from) std::memcpy(to, from, static_cast<std::size_t>(count * element_size_));
      return;
    case Kind::reduce:
    case Kind::receive_reduce:
      return arithmetic_.combine(to, from, count);
    case Kind::reduce_both: {
      std::span<std::byte*> vectors{vectors_.data() + move.first_use, move.uses};
      arithmetic_.combine_all(vectors, count, bound_.both_divisor, move.streams);
      // The addresses move on, because they have no common offset as `to` and `from` have.
      for (std::byte*& vector : vectors) vector += count * element_size_;
      return;
    }
    case Kind::divide:
      return arithmetic_.divide(to, count, bound_.divisor);
    case Kind::widen:
      // One side has 16-bit elements, so its offset is not `start`.
      return widening_.widen(to, move.from + move.done * 2, count);
    case Kind::narrow:
      return widening_.narrow(move.to + move.done * 2, from, count, bound_.divisor);
    case Kind::send:
    case Kind::borrow:
    case Kind::give_back:
      throw Bug("a message was run as a move of elements");
  }
}

void Operation::complete(const BoundMove& move) {
  --unfinished_;
  const std::uint32_t* dependent = bound_.dependents.data() + move.first_dependent;
  for (std::uint32_t at = 0; at < move.dependents; ++at)
    if (--blockers_[dependent[at]] == 0) make_ready(dependent[at]);
}

}  // namespace troika
