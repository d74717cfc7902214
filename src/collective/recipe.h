// A collective as a list of moves per member: which memory and which peer each move uses, but not
// how bytes travel. comm/operation runs it; tests compare the cost formulas with a walk over it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
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

/// The order in which contributions are combined.
enum class CombineOrder {
  any,
  /// Member 2i with 2i+1, those pairs with each other, and so on: the bits depend neither on the
  /// algorithm nor on segments. Needs a power of two members.
  tree,
};

/// How two members are connected.
enum class LinkKind {
  process,  ///< In one process: they share memory.
  node,     ///< In two processes of one node.
  network,
};

/// The figure for links of this kind, of a struct that names one for each.
template <class Each>
auto& of_kind(Each& each, LinkKind kind) {
  switch (kind) {
    case LinkKind::process:
      return each.process;
    case LinkKind::node:
      return each.node;
    case LinkKind::network:
      return each.network;
  }
  throw Bug("a link of no kind");
}

/// A collective on a vector of `count` elements that every member has, in place. Afterwards
/// - all_reduce: all members have the combination of all vectors.
/// - reduce: the root has it; the other vectors are overwritten with unspecified values.
/// - broadcast: all members have the root's vector.
/// - reduce_scatter: member m has the combination in ranges[m]; the rest of its vector is
///   unspecified.
/// - all_gather: all members have ranges[m] of each member m; elements in no range are unchanged.
/// - gather: the root has ranges[m] of each member m; the rest of the other vectors is unspecified.
/// - scatter: member m has the root's ranges[m]; the root's vector is unchanged, the rest of the
///   others is unspecified.
/// - all_to_all: block m of member p's vector is block p of member m's input. The ranges are the
///   blocks, equal in length and the same for all members.
/// - barrier: no member is done before all have begun; count is 0.
/// all_reduce, reduce and broadcast ignore the ranges.
struct CollectiveCall {
  Collective kind = Collective::all_reduce;
  int members = 1;
  std::int64_t count = 0;
  std::vector<Range> ranges;  ///< One per member, not overlapping, possibly empty.
  int root = 0;
  std::vector<int> nodes;      ///< Node of each member; empty: all on one.
  std::vector<int> processes;  ///< Process of each member; empty: one per node.
  CombineOrder order = CombineOrder::any;
  std::int64_t segment = 0;  ///< No move is longer, in elements; 0: no limit.

  bool operator==(const CollectiveCall&) const = default;
};

/// A call whose ranges are nearly equal parts of the vector; for all_to_all, exactly equal ones.
CollectiveCall equal_parts(Collective kind, int members, std::int64_t count);

/// Throws Bug if the call is inconsistent: lists of the wrong length, a root that is not a member,
/// ranges that overlap or lie outside the vector.
void check_call(const CollectiveCall& call);

LinkKind link_between(const CollectiveCall& call, int a, int b);
/// The slowest kind of link between any two members.
LinkKind slowest_link(const CollectiveCall& call);

/// The memory that a piece lies in.
enum class Space {
  input,   ///< Read by all_to_all; never written.
  vector,  ///< The vector of the call.
  scratch,
  borrowed,  ///< The peer's vector, within the elements of an earlier borrow move.
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
  receive,         ///< to = the peer's message.
  receive_reduce,  ///< to = to combined with the peer's message.
  // Only if members share memory:
  lend,         ///< The peer may use `from` of this member's vector. Done when it is given back.
  borrow,       ///< `from` is borrowed. Done when the peer's lend of the same elements has begun.
  give_back,    ///< Ends the borrow of `from`.
  reduce_both,  ///< Combines `to` with the same elements of all current borrows, in the order of
                ///< the members, and writes the result into all of them.
};

/// Sends to a peer match its receives from this member in the listed order, and lends its borrows;
/// a give_back ends the borrow of the same peer and elements.
struct Move {
  MoveKind kind = MoveKind::copy;
  int peer = -1;  ///< A member; -1: the move needs none.
  Piece from{};
  Piece to{};
  bool streams = false;  ///< Of a reduce_both: it writes with non-temporal stores.
  /// Indices of earlier moves of this member that must be done before this one begins. Moves that
  /// are not ordered in this way may run in any order.
  std::vector<int> after{};

  bool operator==(const Move&) const = default;
};

struct MemberMoves {
  std::vector<Move> moves;
  std::int64_t scratch = 0;  ///< Elements.

  bool operator==(const MemberMoves&) const = default;
};

/// The moves of one member.
struct MemberRecipe {
  CollectiveCall call;
  std::string algorithm;
  int member = 0;
  MemberMoves moves;
};

/// The moves of all members: member m runs members[m]. For simulation, costs and tests; a device
/// that runs a collective needs its MemberRecipe only.
struct Recipe {
  CollectiveCall call;
  std::string algorithm;
  std::vector<MemberMoves> members;
};

}  // namespace troika
