// Random changes of a plan, from which a chain chooses.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "lower/planner.h"
#include "search/neighbour_split.h"
#include "search/split_menus.h"

namespace troika {

/// Random numbers of one stream, one after the other.
class SearchDraws {
 public:
  SearchDraws(std::uint64_t seed, std::uint64_t stream) : stream_{.key = seed, .stream = stream} {}

  /// In [0, bound).
  std::size_t below(std::size_t bound) { return stream_.below(next_++, bound); }
  /// In [0, 1).
  double uniform() { return stream_.uniform(4 * next_++); }
  bool one_in(std::size_t count) { return below(count) == 0; }

 private:
  RandomStream stream_;
  std::uint64_t next_ = 0;
};

enum class SplitMoveKind {
  one,        ///< An operator gets another split of its menu.
  run,        ///< The same, and its successors get matching splits.
  neighbour,  ///< An operator gets the split that matches a neighbour's.
  swap,       ///< Two operators with equal menus exchange their splits.
};
inline constexpr std::size_t kSplitMoveKinds = 4;
std::string_view to_string(SplitMoveKind kind);

/// Of 100 moves of a chain.
struct MoveShares {
  std::array<int, kSplitMoveKinds> of{35, 30, 30, 5};
};

struct SplitMove {
  SplitMoveKind kind = SplitMoveKind::one;
  std::vector<SplitChange> changes;  ///< All from the menus; empty: none was found.
};

/// Immutable. Borrows the index and the menus.
class SplitMoves {
 public:
  SplitMoves(const IndexedGraph& index, const SplitMenus& menus, const MoveShares& shares = {});

  SplitMove draw(const Strategy& now, SearchDraws& draws) const;

 private:
  const Split& now_of(const Strategy& now, std::size_t op) const;
  std::size_t any_operator(SearchDraws& draws) const;
  const Split& any_split(const Split& now, std::size_t op, SearchDraws& draws) const;
  void draw_one(const Strategy& now, SearchDraws& draws, SplitMove& move) const;
  void draw_run(const Strategy& now, SearchDraws& draws, SplitMove& move) const;
  void draw_neighbour(const Strategy& now, SearchDraws& draws, SplitMove& move) const;
  void draw_swap(const Strategy& now, SearchDraws& draws, SplitMove& move) const;

  const IndexedGraph& index_;
  const SplitMenus& menus_;
  MoveShares shares_;
  std::vector<std::vector<Neighbours>> neighbours_;
  std::vector<std::size_t> with_choice_;  // operators whose menus have several splits
};

}  // namespace troika
