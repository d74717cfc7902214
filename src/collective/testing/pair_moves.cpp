#include "collective/testing/pair_moves.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <tuple>

namespace troika {
namespace {

/// The two halves of a message or loan; the sender's or lender's first.
struct Halves {
  std::vector<MoveAt> first, second;
};

enum class Channel { message, loan };

/// From whom to whom, over which channel.
using Way = std::tuple<int, int, Channel>;

std::map<Way, Halves> collect(const Recipe& recipe) {
  std::map<Way, Halves> ways;
  for (int member = 0; member < static_cast<int>(recipe.members.size()); ++member) {
    const std::vector<Move>& moves = recipe.members[static_cast<std::size_t>(member)].moves;
    for (int index = 0; index < static_cast<int>(moves.size()); ++index) {
      const Move& move = moves[static_cast<std::size_t>(index)];
      MoveAt at{member, index};
      switch (move.kind) {
        case MoveKind::send:
          ways[{member, move.peer, Channel::message}].first.push_back(at);
          break;
        case MoveKind::receive:
        case MoveKind::receive_reduce:
          ways[{move.peer, member, Channel::message}].second.push_back(at);
          break;
        case MoveKind::lend:
          ways[{member, move.peer, Channel::loan}].first.push_back(at);
          break;
        case MoveKind::borrow:
          ways[{move.peer, member, Channel::loan}].second.push_back(at);
          break;
        case MoveKind::copy:
        case MoveKind::reduce:
        case MoveKind::give_back:
        case MoveKind::reduce_both:
          break;
      }
    }
  }
  return ways;
}

bool fits(const Move& first, const Move& second) {
  if (first.kind == MoveKind::lend) return first.from.elements == second.from.elements;
  return first.from.elements.extent() == second.to.elements.extent();
}

MoveAt find_give_back(const Recipe& recipe, MoveAt borrow) {
  const Move& borrowed = move_at(recipe, borrow);
  int end = static_cast<int>(recipe.members[static_cast<std::size_t>(borrow.member)].moves.size());
  for (MoveAt at{borrow.member, borrow.move + 1}; at.move < end; ++at.move) {
    const Move& move = move_at(recipe, at);
    if (move.kind == MoveKind::give_back && move.peer == borrowed.peer &&
        move.from == borrowed.from)
      return at;
  }
  return {};
}

void pair_up(const Recipe& recipe, const Halves& halves, MovePairs& pairs) {
  auto at = [](auto& table, MoveAt place) -> MoveAt& {
    return table[static_cast<std::size_t>(place.member)][static_cast<std::size_t>(place.move)];
  };
  std::size_t count = std::max(halves.first.size(), halves.second.size());
  for (std::size_t index = 0; index < count && !pairs.fault; ++index) {
    if (index >= halves.first.size() || index >= halves.second.size()) {
      MoveAt alone = index < halves.first.size() ? halves.first[index] : halves.second[index];
      pairs.fault = fmt::format("{} has no counterpart", describe(recipe, alone));
      return;
    }
    MoveAt first = halves.first[index], second = halves.second[index];
    at(pairs.partner, first) = second;
    at(pairs.partner, second) = first;
    if (!fits(move_at(recipe, first), move_at(recipe, second)))
      pairs.fault =
          fmt::format("{} does not fit {}", describe(recipe, first), describe(recipe, second));
    if (move_at(recipe, first).kind != MoveKind::lend) continue;
    MoveAt end = find_give_back(recipe, second);
    if (end.member < 0)
      pairs.fault = fmt::format("{} is never given back", describe(recipe, first));
    at(pairs.given_back, first) = end;
  }
}

}  // namespace

MovePairs pair_moves(const Recipe& recipe) {
  MovePairs pairs;
  for (const MemberMoves& member : recipe.members) {
    pairs.partner.emplace_back(member.moves.size());
    pairs.given_back.emplace_back(member.moves.size());
  }
  for (const auto& [way, halves] : collect(recipe)) pair_up(recipe, halves, pairs);
  return pairs;
}

std::vector<int> lenders(const Recipe& recipe, MoveAt reduce_both) {
  std::vector<int> peers;
  for (MoveAt at{reduce_both.member, 0}; at.move < reduce_both.move; ++at.move) {
    const Move& move = move_at(recipe, at);
    if (move.kind == MoveKind::borrow) peers.push_back(move.peer);
    if (move.kind == MoveKind::give_back) std::erase(peers, move.peer);
  }
  return peers;
}

std::string describe(const Recipe& recipe, MoveAt at) {
  constexpr std::array<const char*, 9> kNames{"copy",    "reduce",         "send",
                                              "receive", "receive_reduce", "lend",
                                              "borrow",  "give_back",      "reduce_both"};
  const Move& move = move_at(recipe, at);
  bool reads = !move.from.elements.empty();
  Range range = reads ? move.from.elements : move.to.elements;
  std::string peer = move.peer < 0 ? "" : fmt::format(", peer {}", move.peer);
  return fmt::format("member {}, move {} ({} [{}:{}){})", at.member, at.move,
                     kNames[static_cast<std::size_t>(move.kind)], range.begin, range.end, peer);
}

}  // namespace troika
