// Reduces any number of members to a power of two: the first members pair up, the even one of a
// pair takes the odd one's contribution and works for both. Thakur, Rabenseifner and Gropp 2005,
// doi:10.1177/1094342005051521.
#pragma once

#include "collective/group.h"
#include "collective/move_list.h"

namespace troika {

struct Fold {
  Group active;       ///< A power of two members; `me` is valid only if this member is one of them.
  int partner = -1;   ///< The other member of this one's pair; -1: it is in none.
  bool works = true;  ///< False for the odd one of a pair.
};

/// If the number of members is a power of two, all are active and none has a partner.
Fold fold(const Group& group);

/// The idle members' contributions go to their partners.
void fold_in(MoveList& moves, const Fold& fold, Range elements);
/// The idle members get the result.
void fold_out(MoveList& moves, const Fold& fold, Range elements);

}  // namespace troika
