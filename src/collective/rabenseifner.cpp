// Recursive halving, then recursive doubling: in step k of the first half two members at distance
// 2^k split their common range, and each reduces one half of it; the second half gathers the
// results in reverse order. Few messages, and optimal in bytes for a power of two members; others
// fold. Near members exchange the long messages, and contributions are combined as a tree.
// Rabenseifner 2004, doi:10.1007/978-3-540-24685-5_1.
#include "collective/fold.h"
#include "collective/member_moves.h"

namespace troika {
namespace {

/// One halving step: this member keeps one half of the common range, the peer the other.
struct Halving {
  int distance = 1;
  int peer = -1;
  Range keeps, gives;
};

std::vector<Halving> halvings(const Group& group, Range elements) {
  std::vector<Halving> steps;
  for (int distance = 1; distance < group.size(); distance *= 2) {
    std::int64_t middle = elements.begin + elements.extent() / 2;
    Range lower{elements.begin, middle}, upper{middle, elements.end};
    bool takes_upper = (group.me & distance) != 0;
    steps.push_back({.distance = distance,
                     .peer = group.member(group.me ^ distance),
                     .keeps = takes_upper ? upper : lower,
                     .gives = takes_upper ? lower : upper});
    elements = steps.back().keeps;
  }
  return steps;
}

void halve(MoveList& moves, const std::vector<Halving>& steps) {
  for (const Halving& step : steps) {
    moves.send(step.peer, vector_piece(step.gives));
    moves.receive_reduce(step.peer, vector_piece(step.keeps));
  }
}

// The halvings in reverse: each step doubles the finished range.
void join_halves(MoveList& moves, const std::vector<Halving>& steps) {
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    moves.send(step->peer, vector_piece(step->keeps));
    moves.receive(step->peer, vector_piece(step->gives));
  }
}

/// Gathers at position 0: in each step the upper member of a pair sends all its data and is done.
void join_at_first(MoveList& moves, const Group& group, const std::vector<Halving>& steps) {
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    if ((group.me & step->distance) != 0) {
      moves.send(step->peer, vector_piece(step->keeps));
      return;
    }
    moves.receive(step->peer, vector_piece(step->gives));
  }
}

}  // namespace

void rabenseifner_all_reduce(MoveList& moves, const Group& group, Range elements) {
  Fold folded = fold(group);
  fold_in(moves, folded, elements);
  if (folded.works) {
    std::vector<Halving> steps = halvings(folded.active, elements);
    halve(moves, steps);
    join_halves(moves, steps);
  }
  fold_out(moves, folded, elements);
}

MemberMoves rabenseifner_all_reduce(const CollectiveCall& call, int member) {
  MoveList moves(call.segment);
  rabenseifner_all_reduce(moves, everyone(call, member), {0, call.count});
  return std::move(moves).take();
}

MemberMoves rabenseifner_reduce(const CollectiveCall& call, int member) {
  MoveList moves(call.segment);
  Fold folded = fold(from_root(call, member));
  fold_in(moves, folded, {0, call.count});
  if (folded.works) {
    std::vector<Halving> steps = halvings(folded.active, {0, call.count});
    halve(moves, steps);
    join_at_first(moves, folded.active, steps);
  }
  return std::move(moves).take();
}

}  // namespace troika
