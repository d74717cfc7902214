// Collects the moves of one member, in the order in which a plain program would do them. What must
// wait for what follows from the memory they touch: a move is `after` each earlier one that writes
// what it reads or touches what it writes, and no other.
#pragma once

#include <vector>

#include "collective/recipe.h"

namespace troika {

inline Piece vector_piece(Range elements) { return {Space::vector, elements}; }
inline Piece input_piece(Range elements) { return {Space::input, elements}; }

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
  void give_back(int peer, Range elements);

  /// Empty messages. A signal comes after everything awaited before.
  void signal(int peer);
  void await(int peer);

  MemberMoves take() && { return std::move(result_); }

 private:
  /// A piece of memory that a move touches; `owner` tells borrowed vectors apart.
  struct Access {
    Piece piece;
    int owner = -1;
    bool writes = false;
    int move = -1;
  };

  void add(Move move, const std::vector<Access>& accesses);
  void order_after_conflicts(Move& move, const Access& access);
  void add_in_segments(const Move& whole);

  std::int64_t segment_;
  MemberMoves result_;
  std::vector<Access> accesses_;  // the last ones of each element
  std::vector<int> lenders_;      // of what is borrowed now
  std::vector<int> awaited_;      // moves
};

}  // namespace troika
