#include "collective/testing/check_recipe.h"

#include <fmt/format.h>

#include <algorithm>

#include "collective/testing/move_order.h"
#include "collective/testing/pair_moves.h"
#include "collective/testing/symbolic_values.h"

namespace troika {
namespace {

using Fault = std::optional<std::string>;

/// Memory that a move touches between its beginning and its end.
struct Touch {
  Piece piece;
  int owner = -1;  ///< Whose vector, if it is borrowed.
  bool writes = false;
};

std::vector<Touch> touches(const Recipe& recipe, MoveAt at) {
  const Move& move = move_at(recipe, at);
  switch (move.kind) {
    case MoveKind::copy:
    case MoveKind::reduce:
      return {{move.from}, {move.to, -1, true}};
    case MoveKind::send:
      return {{move.from}};
    case MoveKind::receive:
    case MoveKind::receive_reduce:
      return {{move.to, -1, true}};
    case MoveKind::lend:  // to the peer, until it is given back
      return {{move.from, -1, true}};
    case MoveKind::borrow:
    case MoveKind::give_back:
      return {{move.from, move.peer, true}};
    case MoveKind::reduce_both: {
      std::vector<Touch> all{{move.to, -1, true}};
      for (int lender : lenders(recipe, at))
        all.push_back({{Space::borrowed, move.to.elements}, lender, true});
      return all;
    }
  }
  return {};
}

bool conflict(const std::vector<Touch>& some, const std::vector<Touch>& others) {
  for (const Touch& a : some) {
    for (const Touch& b : others) {
      if (a.piece.space == b.piece.space && a.owner == b.owner && (a.writes || b.writes) &&
          !intersect(a.piece.elements, b.piece.elements).empty())
        return true;
    }
  }
  return false;
}

/// Whether all that a reduce_both uses of its lenders was borrowed from them.
bool is_borrowed(const Recipe& recipe, MoveAt use) {
  Range range = move_at(recipe, use).to.elements;
  for (int lender : lenders(recipe, use)) {
    bool found = false;
    for (MoveAt at{use.member, 0}; at.move < use.move; ++at.move) {
      const Move& move = move_at(recipe, at);
      found |= move.kind == MoveKind::borrow && move.peer == lender &&
               intersect(move.from.elements, range) == range;
    }
    if (!found) return false;
  }
  return true;
}

bool has_peer(MoveKind kind) {
  return kind != MoveKind::copy && kind != MoveKind::reduce && kind != MoveKind::reduce_both;
}

bool is_inside(const Recipe& recipe, int member, const Piece& piece) {
  std::int64_t scratch = recipe.members[static_cast<std::size_t>(member)].scratch;
  std::int64_t limit = piece.space == Space::scratch ? scratch : recipe.call.count;
  return piece.elements.begin >= 0 && piece.elements.end <= limit;
}

/// What is wrong with a move by itself.
const char* misfit(const Recipe& recipe, MoveAt at) {
  const Move& move = move_at(recipe, at);
  bool peer_exists = move.peer >= 0 && move.peer < recipe.call.members && move.peer != at.member;
  if (has_peer(move.kind) && !peer_exists) return "has no other member as its peer";
  if (std::ranges::any_of(move.after, [&](int i) { return i < 0 || i >= at.move; }))
    return "waits for a move that is not before it";
  for (const Touch& touch : touches(recipe, at)) {
    if (!is_inside(recipe, at.member, touch.piece)) return "reaches outside its memory";
    if (touch.piece.space == Space::input && touch.writes) return "writes the input";
  }
  if (move.kind == MoveKind::reduce_both)
    return is_borrowed(recipe, at) ? nullptr : "uses what is not borrowed";
  bool equal = move.from.elements.extent() == move.to.elements.extent();
  return has_peer(move.kind) || equal ? nullptr : "has two lengths";
}

Fault find_misfit(const Recipe& recipe) {
  if (std::ssize(recipe.members) != recipe.call.members) return "not every member has moves";
  for (int member = 0; member < recipe.call.members; ++member) {
    int count = static_cast<int>(recipe.members[static_cast<std::size_t>(member)].moves.size());
    for (int move = 0; move < count; ++move) {
      if (const char* what = misfit(recipe, {member, move}))
        return fmt::format("{} {}", describe(recipe, {member, move}), what);
    }
  }
  return std::nullopt;
}

Fault find_race(const Recipe& recipe, int member, DoneBefore& done) {
  std::vector<std::vector<Touch>> all;
  int count = static_cast<int>(recipe.members[static_cast<std::size_t>(member)].moves.size());
  for (int move = 0; move < count; ++move) {
    all.push_back(touches(recipe, {member, move}));
    for (int earlier = 0; earlier < move; ++earlier) {
      if (!conflict(all[static_cast<std::size_t>(earlier)], all.back())) continue;
      if (done.ordered(member, earlier, move) || done.ordered(member, move, earlier)) continue;
      return fmt::format("race: {} and {} touch the same elements and may run at the same time",
                         describe(recipe, {member, earlier}), describe(recipe, {member, move}));
    }
  }
  return std::nullopt;
}

/// A barrier: when a member is done it must know of everyone that it has begun.
Fault find_leak(const Recipe& recipe, const MovePairs& pairs, const EventOrder& order) {
  auto members = static_cast<std::size_t>(recipe.call.members);
  using Known = std::vector<bool>;
  std::vector<std::vector<Known>> begin, end;
  for (const MemberMoves& member : recipe.members)
    begin.emplace_back(member.moves.size(), Known(members));
  end = begin;
  std::vector<Known> finally(members, Known(members));
  auto join = [&](Known& to, const Known& from) {
    for (std::size_t index = 0; index < members; ++index) to[index] = to[index] || from[index];
  };
  for (const MoveEvent& event : order.events) {
    auto member = static_cast<std::size_t>(event.at.member);
    auto move = static_cast<std::size_t>(event.at.move);
    if (!event.end) {
      begin[member][move][member] = true;
      for (int earlier : move_at(recipe, event.at).after)
        join(begin[member][move], end[member][static_cast<std::size_t>(earlier)]);
      continue;
    }
    end[member][move] = begin[member][move];
    MoveAt partner = pairs.partner_of(event.at);
    if (move_at(recipe, event.at).kind == MoveKind::receive)
      join(end[member][move],
           begin[static_cast<std::size_t>(partner.member)][static_cast<std::size_t>(partner.move)]);
    join(finally[member], end[member][move]);
  }
  for (std::size_t member = 0; member < members; ++member) {
    finally[member][member] = true;
    auto missing = std::ranges::find(finally[member], false);
    if (missing != finally[member].end())
      return fmt::format("member {} may be done before member {} has begun", member,
                         missing - finally[member].begin());
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> find_fault(const Recipe& recipe) {
  if (Fault fault = find_misfit(recipe)) return fault;
  MovePairs pairs = pair_moves(recipe);
  if (pairs.fault) return pairs.fault;
  EventOrder order = order_events(recipe, pairs);
  if (order.fault) return order.fault;
  DoneBefore done(recipe, pairs, order);
  for (int member = 0; member < recipe.call.members; ++member) {
    if (Fault fault = find_race(recipe, member, done)) return fault;
  }
  if (recipe.call.kind == Collective::barrier) return find_leak(recipe, pairs, order);
  return find_wrong_value(recipe, pairs, order);
}

}  // namespace troika
