// Which send belongs to which receive, and which lend to which borrow and give_back.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "collective/recipe.h"

namespace troika {

struct MoveAt {
  int member = -1;
  int move = -1;

  bool operator==(const MoveAt&) const = default;
};

struct MovePairs {
  /// By member and move: a send's receive and back, a lend's borrow and back; no member for the
  /// rest.
  std::vector<std::vector<MoveAt>> partner;
  /// By member and move: the peer's give_back of a lend.
  std::vector<std::vector<MoveAt>> given_back;
  /// Why they do not match, in a sentence.
  std::optional<std::string> fault;

  const MoveAt& partner_of(MoveAt at) const {
    return partner[static_cast<std::size_t>(at.member)][static_cast<std::size_t>(at.move)];
  }
};

inline const Move& move_at(const Recipe& recipe, MoveAt at) {
  return recipe.members[static_cast<std::size_t>(at.member)]
      .moves[static_cast<std::size_t>(at.move)];
}

MovePairs pair_moves(const Recipe& recipe);

/// The members whose vectors a reduce_both uses beside its own.
std::vector<int> lenders(const Recipe& recipe, MoveAt reduce_both);

/// "member 3, move 7 (send [8:16), peer 4)"
std::string describe(const Recipe& recipe, MoveAt at);

}  // namespace troika
