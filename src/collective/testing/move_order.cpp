#include "collective/testing/move_order.h"

#include <fmt/format.h>

#include <deque>

namespace troika {
namespace {

using Bits = std::vector<std::uint64_t>;

void set(Bits& bits, std::size_t index) { bits[index / 64] |= std::uint64_t{1} << index % 64; }
bool test(const Bits& bits, std::size_t index) { return bits[index / 64] >> index % 64 & 1; }
void join(Bits& bits, const Bits& others) {
  for (std::size_t word = 0; word < bits.size(); ++word) bits[word] |= others[word];
}

std::vector<std::size_t> number_moves(const Recipe& recipe) {
  std::vector<std::size_t> first{0};
  for (const MemberMoves& member : recipe.members)
    first.push_back(first.back() + member.moves.size());
  return first;
}

/// Events as the nodes of a graph: 2 * number of the move, one more for its end.
class EventGraph {
 public:
  EventGraph(const Recipe& recipe, const MovePairs& pairs)
      : recipe_(recipe), first_(number_moves(recipe)), next_(2 * first_.back()) {
    waits_.resize(next_.size());
    for (int member = 0; member < static_cast<int>(recipe.members.size()); ++member) {
      const std::vector<Move>& moves = recipe.members[static_cast<std::size_t>(member)].moves;
      for (int index = 0; index < static_cast<int>(moves.size()); ++index)
        add_move({member, index}, moves[static_cast<std::size_t>(index)], pairs);
    }
  }

  EventOrder sort() {
    EventOrder order;
    std::deque<std::size_t> ready;
    for (std::size_t node = 0; node < next_.size(); ++node) {
      if (waits_[node] == 0) ready.push_back(node);
    }
    while (!ready.empty()) {
      std::size_t node = ready.front();
      ready.pop_front();
      order.events.push_back(event(node));
      for (std::size_t next : next_[node]) {
        if (--waits_[next] == 0) ready.push_back(next);
      }
    }
    for (std::size_t node = 0; node < next_.size() && !order.fault; ++node) {
      if (waits_[node] != 0)
        order.fault = fmt::format("deadlock: {} can never {}", describe(recipe_, event(node).at),
                                  event(node).end ? "end" : "begin");
    }
    return order;
  }

 private:
  std::size_t number(MoveAt at) const {
    return first_[static_cast<std::size_t>(at.member)] + static_cast<std::size_t>(at.move);
  }
  std::size_t begin(MoveAt at) const { return 2 * number(at); }
  std::size_t end(MoveAt at) const { return 2 * number(at) + 1; }

  MoveEvent event(std::size_t node) const {
    int member = 0;
    while (first_[static_cast<std::size_t>(member) + 1] <= node / 2) ++member;
    auto move = static_cast<int>(node / 2 - first_[static_cast<std::size_t>(member)]);
    return {{member, move}, node % 2 == 1};
  }

  void edge(std::size_t before, std::size_t after) {
    next_[before].push_back(after);
    ++waits_[after];
  }

  void add_move(MoveAt at, const Move& move, const MovePairs& pairs) {
    edge(begin(at), end(at));
    for (int earlier : move.after) edge(end({at.member, earlier}), begin(at));
    if (move.kind == MoveKind::send) {
      edge(begin(at), end(pairs.partner_of(at)));
      edge(end(pairs.partner_of(at)), end(at));
    }
    if (move.kind == MoveKind::lend) {
      edge(begin(at), end(pairs.partner_of(at)));
      edge(end(pairs.given_back[static_cast<std::size_t>(at.member)]
                               [static_cast<std::size_t>(at.move)]),
           end(at));
    }
  }

  const Recipe& recipe_;
  std::vector<std::size_t> first_;
  std::vector<std::vector<std::size_t>> next_;
  std::vector<int> waits_;
};

}  // namespace

EventOrder order_events(const Recipe& recipe, const MovePairs& pairs) {
  return EventGraph(recipe, pairs).sort();
}

DoneBefore::DoneBefore(const Recipe& recipe, const MovePairs& pairs, const EventOrder& order)
    : recipe_(recipe), pairs_(pairs), order_(order), first_(number_moves(recipe)) {}

bool DoneBefore::ordered(int member, int first, int second) {
  if (closed_member_ != member) close_over_one(member);
  if (test(local_[static_cast<std::size_t>(second)], static_cast<std::size_t>(first))) return true;
  if (begins_.empty()) close_over_all();
  std::size_t offset = first_[static_cast<std::size_t>(member)];
  return test(begins_[offset + static_cast<std::size_t>(second)],
              offset + static_cast<std::size_t>(first));
}

void DoneBefore::close_over_one(int member) {
  closed_member_ = member;
  const std::vector<Move>& moves = recipe_.members[static_cast<std::size_t>(member)].moves;
  local_.assign(moves.size(), Bits(moves.size() / 64 + 1));
  for (std::size_t index = 0; index < moves.size(); ++index) {
    for (int earlier : moves[index].after) {
      join(local_[index], local_[static_cast<std::size_t>(earlier)]);
      set(local_[index], static_cast<std::size_t>(earlier));
    }
  }
}

void DoneBefore::close_over_all() {
  std::size_t total = first_.back();
  auto number = [&](MoveAt at) {
    return first_[static_cast<std::size_t>(at.member)] + static_cast<std::size_t>(at.move);
  };
  begins_.assign(total, Bits(total / 64 + 1));
  ends_ = begins_;
  for (const MoveEvent& event : order_.events) {
    const Move& move = move_at(recipe_, event.at);
    std::size_t self = number(event.at);
    if (!event.end) {
      for (int earlier : move.after) join(begins_[self], ends_[number({event.at.member, earlier})]);
      continue;
    }
    join(ends_[self], begins_[self]);
    set(ends_[self], self);
    if (move.kind == MoveKind::receive || move.kind == MoveKind::receive_reduce ||
        move.kind == MoveKind::borrow)
      join(ends_[self], begins_[number(pairs_.partner_of(event.at))]);
    if (move.kind == MoveKind::lend)
      join(ends_[self], ends_[number(pairs_.given_back[static_cast<std::size_t>(event.at.member)]
                                                      [static_cast<std::size_t>(event.at.move)])]);
  }
}

}  // namespace troika
