#include "search/split_moves.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "strategy/tiles.h"

namespace troika {
namespace {

/// Another number of chunks means planning from scratch, so fewer moves ask for one: 1 / 4.
constexpr std::size_t kChunkMoves = 4;
/// Most splits of a menu are over some devices, or uneven, and make devices differ from each other:
/// plans with them take longer to simulate and are seldom better. So 1 / 8 of the draws are from
/// all.
constexpr std::size_t kUnevenMoves = 8;

}  // namespace

std::string_view to_string(SplitMoveKind kind) {
  switch (kind) {
    case SplitMoveKind::one:
      return "one operator";
    case SplitMoveKind::run:
      return "a run of operators";
    case SplitMoveKind::neighbour:
      return "like a neighbour";
    case SplitMoveKind::swap:
      return "two exchanged";
  }
  return "";
}

SplitMoves::SplitMoves(const IndexedGraph& index, const SplitMenus& menus, const MoveShares& shares)
    : index_(index), menus_(menus), shares_(shares), neighbours_(find_neighbours(index)) {
  for (std::size_t op = 0; op < menus.count(); ++op)
    if (menus.of(op).size() > 1) with_choice_.push_back(op);
}

const Split& SplitMoves::now_of(const Strategy& now, std::size_t op) const {
  return split_of(now, index_.graph.operators[op].name);
}

std::size_t SplitMoves::any_operator(SearchDraws& draws) const {
  return with_choice_[draws.below(with_choice_.size())];
}

const Split& SplitMoves::any_split(const Split& now, std::size_t op, SearchDraws& draws) const {
  const std::vector<Split>& menu = menus_.of(op);
  const std::vector<std::size_t>& even = menus_.even(op);
  bool keeps_chunks = !draws.one_in(kChunkMoves);
  bool is_even = !draws.one_in(kUnevenMoves) && !even.empty();
  const Split* drawn = nullptr;
  for (int attempt = 0; attempt < 8; ++attempt) {
    drawn = &menu[is_even ? even[draws.below(even.size())] : draws.below(menu.size())];
    if (!keeps_chunks || drawn->chunks == now.chunks) break;
  }
  return *drawn;
}

SplitMove SplitMoves::draw(const Strategy& now, SearchDraws& draws) const {
  if (with_choice_.empty()) return {};
  int all = std::accumulate(shares_.of.begin(), shares_.of.end(), 0);
  auto drawn = static_cast<int>(draws.below(static_cast<std::size_t>(all)));
  std::size_t kind = 0;
  while (drawn >= shares_.of[kind]) drawn -= shares_.of[kind++];
  SplitMove move{static_cast<SplitMoveKind>(kind), {}};
  switch (move.kind) {
    case SplitMoveKind::one:
      draw_one(now, draws, move);
      break;
    case SplitMoveKind::run:
      draw_run(now, draws, move);
      break;
    case SplitMoveKind::neighbour:
      draw_neighbour(now, draws, move);
      break;
    case SplitMoveKind::swap:
      draw_swap(now, draws, move);
      break;
  }
  std::erase_if(move.changes, [&](const SplitChange& change) {
    return normalised(now_of(now, as_index(change.op))) == change.split;
  });
  return move;
}

void SplitMoves::draw_one(const Strategy& now, SearchDraws& draws, SplitMove& move) const {
  std::size_t op = any_operator(draws);
  move.changes.push_back({static_cast<std::int32_t>(op), any_split(now_of(now, op), op, draws)});
}

/// Operators that cannot go along stay as they are, and so do those that only follow them.
void SplitMoves::draw_run(const Strategy& now, SearchDraws& draws, SplitMove& move) const {
  draw_one(now, draws, move);
  std::size_t longest = std::size_t{2} << draws.below(5);  // a few blocks of a deep network
  std::unordered_map<std::size_t, const Split*> changed;
  std::size_t first = as_index(move.changes.front().op);
  // Entries of menus stay in place.
  changed[first] = &menus_.of(first)[*menus_.find(first, move.changes.front().split)];
  std::size_t end = std::min(first + longest, menus_.count());
  for (std::size_t op = first + 1; op < end; ++op) {
    for (const Neighbours& pair : neighbours_[op]) {
      auto known = changed.find(pair.from);
      if (known == changed.end()) continue;
      Split split = split_like_neighbour(index_, pair, *known->second);
      std::optional<std::size_t> place = menus_.find(op, split);
      if (!place) continue;
      changed[op] = &menus_.of(op)[*place];
      move.changes.push_back({static_cast<std::int32_t>(op), menus_.of(op)[*place]});
      break;
    }
  }
}

void SplitMoves::draw_neighbour(const Strategy& now, SearchDraws& draws, SplitMove& move) const {
  std::size_t op = any_operator(draws);
  if (neighbours_[op].empty()) return;
  const Neighbours& pair = neighbours_[op][draws.below(neighbours_[op].size())];
  Split split = split_like_neighbour(index_, pair, now_of(now, pair.from));
  if (std::optional<std::size_t> place = menus_.find(op, split))
    move.changes.push_back({static_cast<std::int32_t>(op), menus_.of(op)[*place]});
}

void SplitMoves::draw_swap(const Strategy& now, SearchDraws& draws, SplitMove& move) const {
  std::size_t one = any_operator(draws);
  std::vector<std::size_t> others;
  for (std::size_t op : with_choice_)
    if (op != one && menus_.menu_of(op) == menus_.menu_of(one)) others.push_back(op);
  if (others.empty()) return;
  std::size_t other = others[draws.below(others.size())];
  std::optional<std::size_t> first = menus_.find(one, now_of(now, one));
  std::optional<std::size_t> second = menus_.find(other, now_of(now, other));
  if (!first || !second) return;  // a seed may be outside the menus
  move.changes.push_back({static_cast<std::int32_t>(one), menus_.of(one)[*second]});
  move.changes.push_back({static_cast<std::int32_t>(other), menus_.of(other)[*first]});
}

}  // namespace troika
