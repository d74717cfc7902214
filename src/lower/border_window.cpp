#include "lower/border_window.h"

#include <algorithm>

#include "lower/fuse.h"

namespace troika {

BorderWindow::BorderWindow(UnitGraph& graph, const Machine& machine, const KernelTable& table)
    : graph_(graph), machine_(machine), table_(table) {
  for (const Unit& unit : graph.units)
    if (unit.row != nullptr) units_.push_back({unit.row, unit.uses});
  std::vector<FusedChain> chains = find_chains(graph);
  find_chain_rows(chains, graph, machine, table);
  fuse(graph, chains);
}

/// Layouts of operands that are like the values: written here, or stored, and of as many
/// dimensions.
LayoutSet BorderWindow::offered(const std::vector<std::int32_t>& values) const {
  LayoutSet layouts = Layout::plain;
  for (const std::vector<UnitGraph::Piece>* pieces : {&graph_.written, &graph_.stored}) {
    std::vector<bool> ranks(kMaxRank + 1), is_piece(graph_.buffers.size());
    auto rank_of = [&](std::int32_t buffer) {
      return graph_.buffers[as_index(buffer)].spec.shape.rank();
    };
    for (const UnitGraph::Piece& piece : *pieces) {
      is_piece[as_index(piece.buffer)] = true;
      if (std::ranges::find(values, piece.value) != values.end())
        ranks[rank_of(piece.buffer)] = true;
    }
    for (const Unit& unit : graph_.units)
      for (std::size_t use = 0; unit.row != nullptr && use < unit.uses.size(); ++use)
        if (is_piece[as_index(unit.uses[use].buffer)] && ranks[rank_of(unit.uses[use].buffer)])
          for (const Candidate& candidate : *unit.row) layouts.insert(candidate.layouts[use]);
  }
  return layouts;
}

bool BorderWindow::can_write(const std::vector<UnitGraph::Piece>& pieces,
                             const std::vector<Layout>& layouts) const {
  auto leaves = [&](const Candidate& candidate, const std::vector<UnitUse>& uses) {
    for (std::size_t use = 0; use < uses.size(); ++use) {
      if (uses[use].access == Access::read || candidate.flat) continue;
      auto piece = std::ranges::find(pieces, uses[use].buffer, &UnitGraph::Piece::buffer);
      if (piece != pieces.end() && layouts[as_index(piece->buffer)] != candidate.layouts[use])
        return false;
    }
    return true;
  };
  return std::ranges::all_of(units_, [&](const WriterUnit& unit) {
    return std::ranges::any_of(
        *unit.row, [&](const Candidate& candidate) { return leaves(candidate, unit.uses); });
  });
}

void BorderWindow::decide(const std::vector<std::int32_t>& values, BorderLayouts& borders) {
  for (std::int32_t value : values) std::ranges::fill(borders[as_index(value)], Layout::plain);
  LayoutSet ends = offered(values);
  if (ends == LayoutSet(Layout::plain)) return;
  std::vector<Layout> layouts = search_with_ends(graph_, machine_, table_, ends);
  if (layouts.empty()) return;
  std::vector<UnitGraph::Piece> pieces;
  for (const std::vector<UnitGraph::Piece>* all : {&graph_.written, &graph_.stored})
    std::ranges::copy_if(*all, std::back_inserter(pieces), [&](const UnitGraph::Piece& piece) {
      return std::ranges::find(values, piece.value) != values.end();
    });
  // All kinds of tiles of a writer leave its value alike, and so units can take one kernel.
  for (const UnitGraph::Piece& piece : pieces)
    borders[as_index(piece.value)][as_index(piece.writer)] = layouts[as_index(piece.buffer)];
  bool possible = std::ranges::all_of(pieces, [&](const UnitGraph::Piece& piece) {
    return borders[as_index(piece.value)][as_index(piece.writer)] ==
           layouts[as_index(piece.buffer)];
  });
  if (possible && can_write(pieces, layouts)) return;
  for (std::int32_t value : values) std::ranges::fill(borders[as_index(value)], Layout::plain);
}

}  // namespace troika
