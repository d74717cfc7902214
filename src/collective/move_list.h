// Collects the moves of one member, in the order of a sequential program, and derives their
// dependencies from the memory they access: a move is `after` each earlier one that writes what it
// reads, or that reads or writes what it writes.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "collective/recipe.h"

namespace troika {

inline Piece vector_piece(Range elements) { return {Space::vector, elements}; }
inline Piece input_piece(Range elements) { return {Space::input, elements}; }

/// The last writer of each element of a space, and the readers since then.
class AccessMap {
 public:
  /// Appends the moves that `move` must wait for to `after`, and records its access.
  void touch(Range elements, int move, bool writes, std::vector<int>& after);

 private:
  struct Cell {
    std::int64_t end = 0;
    int writer = -1;
    std::vector<int> readers;  // since then
  };

  void split(std::int64_t at);
  void cover(Range elements);

  std::map<std::int64_t, Cell> cells_;  // by begin; a gap is memory not accessed yet
};

/// Moves longer than `segment` elements are split, so that the next step can begin with the first
/// segment while the last one travels. Empty moves are dropped. Both halves of a message are split
/// alike.
class MoveList {
 public:
  explicit MoveList(std::int64_t segment) : segment_(segment) {}

  /// Reserves scratch memory.
  Piece new_scratch(std::int64_t elements);

  void copy(Piece to, Piece from);
  void reduce(Piece to, Piece from);
  void send(int peer, Piece from);
  void receive(int peer, Piece to);
  void receive_reduce(int peer, Piece to);

  void lend(int peer, Range elements);
  void borrow(int peer, Range elements);
  void reduce_both(Range elements);
  void reduce_both_streamed(Range elements);
  void give_back(int peer, Range elements);

  /// Empty messages. A signal is sent after all earlier awaits have completed.
  void signal(int peer);
  void await(int peer);

  MemberMoves take() && { return std::move(result_); }

 private:
  struct Access {
    Piece piece;
    int owner = -1;  ///< The lender, of borrowed memory.
    bool writes = false;
  };

  void add(Move move, const std::vector<Access>& accesses);
  void add_in_segments(const Move& whole);

  std::int64_t segment_;
  MemberMoves result_;
  std::map<std::pair<Space, int>, AccessMap> accesses_;  // by space and owner
  std::vector<int> lenders_;                             // of the current borrows
  std::vector<int> awaited_;                             // moves
};

}  // namespace troika
