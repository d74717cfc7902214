// A collective as pure moves: what each member does with its own memory and with which peer, and
// nothing of how bytes travel. A recipe is executed (comm), simulated (sim) and summed up (cost).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/region.h"

namespace troika {

enum class Collective {
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  reduce,
  all_to_all,
  gather,
  scatter,
  barrier,
};

std::string_view to_string(Collective kind);

/// In which order contributions are combined.
enum class CombineOrder {
  any,
  /// Member 2i with 2i+1, those pairs with each other, and so on: the bits depend neither on the
  /// algorithm nor on segments. Needs a power of two members.
  tree,
};

/// Where two members are from each other.
enum class LinkKind {
  process,  ///< In one process: they share memory.
  node,     ///< In two processes of one node.
  network,
};

/// What a collective shall do to a vector of `count` elements that every member has, in place:
/// - all_reduce: all have the combination of all. reduce: the root has it; the others' vectors are
///   spoilt. broadcast: all have the root's.
/// - reduce_scatter: member m has the combination in ranges[m]; the rest of its vector is spoilt.
/// - all_gather: all have ranges[m] of each m; what is in no range stays.
/// - gather: the root has ranges[m] of each m; scatter: m has the root's ranges[m], and the root's
///   vector stays. The rest of the others' vectors is spoilt.
/// - all_to_all: of its input, which holds one block for each member, m sends block p to p, where
///   it becomes block m of the vector; ranges are the blocks, the same for all members and of equal
///   length.
/// - barrier: nobody is done before all have begun; count is 0.
/// all_reduce, reduce and broadcast do not look at the ranges.
struct CollectiveCall {
  Collective kind = Collective::all_reduce;
  int members = 1;
  std::int64_t count = 0;
  std::vector<Range> ranges;  ///< One per member, not overlapping, possibly empty.
  int root = 0;
  std::vector<int> nodes;      ///< The node that each member lives on; empty: all on one.
  std::vector<int> processes;  ///< The same for processes; empty: all in one per node.
  CombineOrder order = CombineOrder::any;
  std::int64_t segment = 0;  ///< No move is longer, in elements; 0: no limit.

  bool operator==(const CollectiveCall&) const = default;
};

/// ranges = the nearly equal parts of the vector; for all_to_all all of them as long as the
/// shortest.
CollectiveCall equal_parts(Collective kind, int members, std::int64_t count);

/// Fails with a Bug where a call contradicts itself: lists of the wrong length, a root that is no
/// member, ranges that overlap or lie outside.
void check_call(const CollectiveCall& call);

LinkKind link_between(const CollectiveCall& call, int a, int b);

/// Where a piece of a member's memory is.
enum class Space {
  input,   ///< all_to_all reads it; nobody writes it.
  vector,  ///< What the collective works on.
  scratch,
  borrowed,  ///< The peer's vector, as far as a borrow move has made it usable; same elements.
};

struct Piece {
  Space space = Space::vector;
  Range elements;

  bool operator==(const Piece&) const = default;
};

enum class MoveKind {
  copy,            ///< to = from.
  reduce,          ///< to = to combined with from.
  send,            ///< from, to the peer; empty in a barrier. Done when it may be overwritten.
  receive,         ///< to = what the peer sent.
  receive_reduce,  ///< to = to combined with what the peer sent.
  // Only where members share memory:
  lend,         ///< The peer may read and write `from` of my vector. Done when it is given back.
  borrow,       ///< `from` is borrowed. Done when the peer's lend of the same elements has begun.
  give_back,    ///< Ends the borrow of `from`.
  reduce_both,  ///< Combines `to` with the same elements of all that is borrowed (listed before
                ///< and not yet given back), one after the other in the order of the members, and
                ///< writes the result into all of them.
};

/// Sends to a peer match its receives from me in the listed order, and lends its borrows; a
/// give_back ends the borrow of the same peer and elements.
struct Move {
  MoveKind kind = MoveKind::copy;
  int peer = -1;  ///< Member, where there is one.
  Piece from{};
  Piece to{};
  bool past_caches = false;  ///< Of a reduce_both: the results are not to stay in caches.
  /// Earlier moves of the same member, by index, that must be done before this one begins. Moves
  /// that are not ordered so may run in any order.
  std::vector<int> after{};

  bool operator==(const Move&) const = default;
};

struct MemberMoves {
  std::vector<Move> moves;
  std::int64_t scratch = 0;  ///< Elements.

  bool operator==(const MemberMoves&) const = default;
};

/// What one member does.
struct MemberRecipe {
  CollectiveCall call;
  std::string algorithm;
  int member = 0;
  MemberMoves moves;
};

/// What all members do: member m runs members[m]. For who looks at a whole collective; a device
/// that runs one needs its own moves only.
struct Recipe {
  CollectiveCall call;
  std::string algorithm;
  std::vector<MemberMoves> members;
};

}  // namespace troika
