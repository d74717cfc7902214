#include "cost/testing/recipe_time.h"

#include <algorithm>

#include "base/error.h"
#include "collective/testing/pair_moves.h"

namespace troika {
namespace {

/// A move's beginning, its message on the way (kept with the send), and its end, which includes its
/// work on memory: three nodes of a graph, each with its length of time.
class Walk {
 public:
  Walk(const Recipe& recipe, Bytes element, const LinkCosts& costs)
      : recipe_(recipe), element_(element), costs_(costs), pairs_(pair_moves(recipe)) {
    TROIKA_CHECK(!pairs_.fault, *pairs_.fault);
    for (const MemberMoves& member : recipe.members)
      first_.push_back(first_.back() + 3 * member.moves.size());
    nodes_.resize(first_.back());
    for (int member = 0; member < recipe.call.members; ++member) add_member(member);
  }

  SimTime longest() {
    std::vector<std::size_t> ready;
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      if (nodes_[node].waits == 0) ready.push_back(node);
    }
    SimTime last{};
    std::size_t visited = 0;
    for (; !ready.empty(); ++visited) {
      Node& node = nodes_[ready.back()];
      ready.pop_back();
      SimTime end = node.start + node.length;
      last = std::max(last, end);
      for (std::size_t next : node.next) {
        nodes_[next].start = std::max(nodes_[next].start, end);
        if (--nodes_[next].waits == 0) ready.push_back(next);
      }
    }
    TROIKA_CHECK_EQ(visited, nodes_.size());  // else the listed orders block each other
    return last;
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  struct Node {
    SimTime start{}, length{};
    int waits = 0;
    std::vector<std::size_t> next;
  };

  /// What can do one thing at a time.
  struct Ports {
    std::size_t sends = kNone, receives = kNone, works = kNone;  // the last node of each
  };

  std::size_t begin(MoveAt at) const {
    return first_[static_cast<std::size_t>(at.member)] + 3 * static_cast<std::size_t>(at.move);
  }
  std::size_t message(MoveAt at) const { return begin(at) + 1; }
  std::size_t end(MoveAt at) const { return begin(at) + 2; }

  void edge(std::size_t before, std::size_t after) {
    nodes_[before].next.push_back(after);
    ++nodes_[after].waits;
  }

  void queue(std::size_t& last, std::size_t node) {
    if (last != kNone) edge(last, node);
    last = node;
  }

  Bytes bytes(Range range) const { return element_ * range.extent(); }

  void add_member(int member) {
    Ports ports;
    const std::vector<Move>& moves = recipe_.members[static_cast<std::size_t>(member)].moves;
    for (int index = 0; index < static_cast<int>(moves.size()); ++index) {
      const Move& move = moves[static_cast<std::size_t>(index)];
      MoveAt at{member, index};
      edge(begin(at), end(at));
      for (int earlier : move.after) edge(end({member, earlier}), begin(at));
      add_move(at, move, ports);
    }
  }

  void add_move(MoveAt at, const Move& move, Ports& ports) {
    switch (move.kind) {
      case MoveKind::copy:
        return work(at, ports, copy_time(costs_.memory, bytes(move.to.elements)));
      case MoveKind::reduce:
        return work(at, ports, reduce_time(costs_.memory, bytes(move.to.elements)));
      case MoveKind::reduce_both: {
        auto vectors = static_cast<std::int64_t>(lenders(recipe_, at).size()) + 1;
        return work(at, ports, reduce_both_time(costs_.memory, bytes(move.to.elements) * vectors));
      }
      case MoveKind::send:
      case MoveKind::give_back:
        send(at, move, ports);
        edge(message(at), end(at));
        return;
      case MoveKind::lend: {
        send(at, move, ports);
        MoveAt given_back =
            pairs_
                .given_back[static_cast<std::size_t>(at.member)][static_cast<std::size_t>(at.move)];
        edge(end(given_back), end(at));
        return;
      }
      case MoveKind::receive:
      case MoveKind::borrow:
        return receive(at, ports);
      case MoveKind::receive_reduce:
        receive(at, ports);
        return work(at, ports, combine_time(link(at), bytes(move.to.elements)));
    }
  }

  const LinkCost& link(MoveAt at) const {
    return costs_[link_between(recipe_.call, at.member, move_at(recipe_, at).peer)];
  }

  void work(MoveAt at, Ports& ports, SimTime length) {
    nodes_[end(at)].length = length;
    queue(ports.works, end(at));
  }

  void send(MoveAt at, const Move& move, Ports& ports) {
    bool carries = move.kind == MoveKind::send;
    nodes_[message(at)].length =
        message_time(link(at), carries ? bytes(move.from.elements) : Bytes{});
    edge(begin(at), message(at));
    queue(ports.sends, message(at));
  }

  void receive(MoveAt at, Ports& ports) {
    std::size_t sent = message(pairs_.partner_of(at));
    edge(begin(at), sent);
    edge(sent, end(at));
    queue(ports.receives, sent);
  }

  const Recipe& recipe_;
  Bytes element_;
  const LinkCosts& costs_;
  MovePairs pairs_;
  std::vector<std::size_t> first_{0};
  std::vector<Node> nodes_;
};

}  // namespace

SimTime recipe_time(const Recipe& recipe, Bytes element, const LinkCosts& costs) {
  return Walk(recipe, element, costs).longest();
}

}  // namespace troika
