#include "comm/operation.h"

#include <algorithm>
#include <cstring>

#include "base/streaming.h"

namespace troika {
namespace {

using Kind = BoundMove::Kind;

Widening widening_or_none(DType dtype) {
  return size_of(dtype).count == 2 ? widening_of(dtype) : Widening{};
}

}  // namespace

Operation::Operation(MoveProgress& progress, const MemberRecipe& recipe, const Member& member,
                     const MemberBuffers& buffers, const BindOptions& options, Bytes chunk)
    : progress_(progress),
      bound_(bind(recipe, member, buffers, options, progress.transport())),
      arithmetic_(arithmetic_of(bound_.dtype, options.rule)),
      widening_(widening_or_none(options.dtype)),
      chunk_(std::max<std::int64_t>(1, chunk.count / size_of(options.dtype).count)),
      element_size_(size_of(bound_.dtype).count),
      blockers_(bound_.moves.size()),
      open_(bound_.moves.size()),
      vectors_(bound_.uses.size()) {
  progress_.make_room();
}

Operation::~Operation() { progress_.forget(*this); }

void Operation::start(int urgency) {
  TROIKA_CHECK(is_done(), "an operation was started again before it was waited for");
  urgency_ = urgency;
  progress_.start(*this);
}

bool Operation::test() { return progress_.test(*this); }

void Operation::wait() { progress_.wait(*this); }

void Operation::open_first() {
  unfinished_ = bound_.moves.size();
  if (unfinished_ == 0) return;
  std::memcpy(blockers_.data(), bound_.blockers.data(), blockers_.size() * sizeof(blockers_[0]));
  open_count_ = 0;
  for (BoundMove& move : bound_.moves)
    if (move.kind == Kind::receive_reduce) move.incoming->start();  // its landing is always free
  for (std::uint32_t at = 0; at < blockers_.size(); ++at)
    if (bound_.blockers[at] == 0) open(at);
}

void Operation::open(std::uint32_t index) {
  BoundMove& move = bound_.moves[index];
  open_[open_count_++] = index;
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

bool Operation::advance() {
  budget_ = chunk_;
  bool moved = false;
  std::size_t kept = 0, at = 0;
  for (; at < open_count_ && budget_ > 0; ++at) {
    std::uint32_t index = open_[at];
    Outcome outcome = poll(bound_.moves[index]);
    moved |= outcome != Outcome::blocked;
    if (outcome == Outcome::done) {
      finish(bound_.moves[index]);
    } else {
      open_[kept++] = index;
    }
  }
  if (kept != at) {
    std::copy(open_.begin() + static_cast<std::ptrdiff_t>(at),
              open_.begin() + static_cast<std::ptrdiff_t>(open_count_),
              open_.begin() + static_cast<std::ptrdiff_t>(kept));
    open_count_ -= at - kept;
  }
  return moved;
}

Operation::Outcome Operation::poll(BoundMove& move) {
  switch (move.kind) {
    case Kind::send:
      return move.outgoing->done() ? Outcome::done : Outcome::blocked;
    case Kind::borrow: {
      std::byte* address = move.incoming->arrived();
      bound_.borrows[static_cast<std::size_t>(move.borrow)].address = address;
      return address != nullptr ? Outcome::done : Outcome::blocked;
    }
    case Kind::give_back:
      move.incoming->finish();
      return Outcome::done;
    case Kind::receive:
    case Kind::receive_reduce: {
      if (move.done == 0) move.from = move.incoming->arrived();
      if (move.from == nullptr) return Outcome::blocked;
      Outcome outcome = run_chunk(move);
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
  throw Bug("no such move");
}

Operation::Outcome Operation::run_chunk(BoundMove& move) {
  std::int64_t count = std::min(move.count - move.done, budget_);
  if (count > 0) run_elements(move, count);
  budget_ -= count;
  move.done += count;
  if (move.done < move.count) return Outcome::unfinished;
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
      if (to != from) std::memcpy(to, from, static_cast<std::size_t>(count * element_size_));
      return;
    case Kind::reduce:
    case Kind::receive_reduce:
      return arithmetic_.combine(to, from, count);
    case Kind::reduce_both: {
      std::span<std::byte*> vectors{vectors_.data() + move.first_use, move.uses};
      arithmetic_.combine_all(vectors, count, bound_.both_divisor, move.past_caches);
      for (std::byte*& vector : vectors) vector += count * element_size_;
      return;
    }
    case Kind::divide:
      return arithmetic_.divide(to, count, bound_.divisor);
    case Kind::widen:
      return widening_.widen(to, move.from + move.done * 2, count);
    case Kind::narrow:
      return widening_.narrow(move.to + move.done * 2, from, count, bound_.divisor);
    case Kind::send:
    case Kind::borrow:
    case Kind::give_back:
      throw Bug("a move without elements");
  }
}

void Operation::finish(BoundMove& move) {
  --unfinished_;
  const std::uint32_t* dependent = bound_.dependents.data() + move.first_dependent;
  for (std::uint32_t at = 0; at < move.dependents; ++at)
    if (--blockers_[dependent[at]] == 0) open(dependent[at]);
}

}  // namespace troika
