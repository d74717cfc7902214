#include "collective/fold.h"

namespace troika {

Fold fold(const Group& group) {
  int pairs = group.size() - power_of_two_below(group.size());  // so many members are too many
  Fold fold;
  for (int position = 0; position < group.size(); ++position) {
    bool paired = position < 2 * pairs;
    bool works = !paired || position % 2 == 0;
    // Counted before this member is added: its own position among the active ones.
    if (position == group.me) {
      fold.works = works;
      fold.active.me = fold.active.size();
      if (paired) fold.partner = group.member(position ^ 1);
    }
    if (works) fold.active.members.push_back(group.member(position));
  }
  return fold;
}

void fold_in(MoveList& moves, const Fold& fold, Range elements) {
  if (fold.partner < 0) return;
  if (fold.works)
    moves.receive_reduce(fold.partner, vector_piece(elements));
  else
    moves.send(fold.partner, vector_piece(elements));
}

void fold_out(MoveList& moves, const Fold& fold, Range elements) {
  if (fold.partner < 0) return;
  if (fold.works)
    moves.send(fold.partner, vector_piece(elements));
  else
    moves.receive(fold.partner, vector_piece(elements));
}

}  // namespace troika
