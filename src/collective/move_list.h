// Collects the moves of one member, in the order in which a plain program would do them. What must
// wait for what follows from the memory they touch: a move is `after` each earlier one that writes
// what it reads or touches what it writes, and no other.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "collective/recipe.h"

namespace troika {

inline Piece vector_piece(Range elements) { return {Space::vector, elements}; }
inline Piece input_piece(Range elements) { return {Space::input, elements}; }

/// Who touched each element of a stretch of memory last.
class AccessMap {
 public:
  /// Appends the moves that `move` must wait for, and remembers it.
  void touch(Range elements, int move, bool writes, std::vector<int>& after);

 private:
  struct Cell {
    std::int64_t end = 0;
    int writer = -1;
    std::vector<int> readers;  // since then
  };

  void split(std::int64_t at);
  void cover(Range elements);

  std::map<std::int64_t, Cell> cells_;  // by begin; no gap matters, a gap is untouched memory
};

/// Moves longer than `segment` elements become several, so that the next step may begin with the
/// first while the last is on its way; empty ones become none. Both halves of a message are cut
/// alike.
class MoveList {
 public:
  explicit MoveList(std::int64_t segment) : segment_(segment) {}

  /// Memory of its own.
  Piece new_scratch(std::int64_t elements);

  void copy(Piece to, Piece from);
  void reduce(Piece to, Piece from);
  void send(int peer, Piece from);
  void receive(int peer, Piece to);
  void receive_reduce(int peer, Piece to);

  void lend(int peer, Range elements);
  void borrow(int peer, Range elements);
  void reduce_both(Range elements);
  void reduce_both_past_caches(Range elements);
  void give_back(int peer, Range elements);

  /// Empty messages. A signal comes after everything awaited before.
  void signal(int peer);
  void await(int peer);

  MemberMoves take() && { return std::move(result_); }

 private:
  struct Access {
    Piece piece;
    int owner = -1;  ///< Tells borrowed vectors apart.
    bool writes = false;
  };

  void add(Move move, const std::vector<Access>& accesses);
  void add_in_segments(const Move& whole);

  std::int64_t segment_;
  MemberMoves result_;
  std::map<std::pair<Space, int>, AccessMap> accesses_;  // by space and owner
  std::vector<int> lenders_;                             // of what is borrowed now
  std::vector<int> awaited_;                             // moves
};

}  // namespace troika
