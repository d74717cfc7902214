// Dependencies come from a map of each memory, cut into cells of equal history: who wrote a cell
// last and who has read it since.
#include "collective/move_list.h"

#include <algorithm>

#include "base/error.h"

namespace troika {
namespace {

/// `length` elements from an offset on, or as many as are left.
Range part(Range whole, std::int64_t offset, std::int64_t length) {
  return {whole.begin + offset, std::min(whole.begin + offset + length, whole.end)};
}

}  // namespace

Piece MoveList::new_scratch(std::int64_t elements) {
  Piece piece{Space::scratch, {result_.scratch, result_.scratch + elements}};
  result_.scratch += elements;
  return piece;
}

void MoveList::copy(Piece to, Piece from) {
  add_in_segments({.kind = MoveKind::copy, .from = from, .to = to});
}

void MoveList::reduce(Piece to, Piece from) {
  add_in_segments({.kind = MoveKind::reduce, .from = from, .to = to});
}

void MoveList::send(int peer, Piece from) {
  add_in_segments({.kind = MoveKind::send, .peer = peer, .from = from});
}

void MoveList::receive(int peer, Piece to) {
  add_in_segments({.kind = MoveKind::receive, .peer = peer, .to = to});
}

void MoveList::receive_reduce(int peer, Piece to) {
  add_in_segments({.kind = MoveKind::receive_reduce, .peer = peer, .to = to});
}

void MoveList::lend(int peer, Range elements) {
  if (elements.empty()) return;
  // The borrower may write to lent memory, so a loan counts as a write for other moves.
  Piece piece = vector_piece(elements);
  add({.kind = MoveKind::lend, .peer = peer, .from = piece}, {{.piece = piece, .writes = true}});
}

void MoveList::borrow(int peer, Range elements) {
  if (elements.empty()) return;
  Piece piece{Space::borrowed, elements};
  add({.kind = MoveKind::borrow, .peer = peer, .from = piece},
      {{.piece = piece, .owner = peer, .writes = true}});
  lenders_.push_back(peer);
}

void MoveList::reduce_both(Range elements) {
  add_in_segments({.kind = MoveKind::reduce_both, .to = vector_piece(elements)});
}

void MoveList::reduce_both_streamed(Range elements) {
  add_in_segments({.kind = MoveKind::reduce_both, .to = vector_piece(elements), .streams = true});
}

void MoveList::give_back(int peer, Range elements) {
  if (elements.empty()) return;
  Piece piece{Space::borrowed, elements};
  add({.kind = MoveKind::give_back, .peer = peer, .from = piece},
      {{.piece = piece, .owner = peer, .writes = true}});
  std::erase(lenders_, peer);
}

// Messages without memory, so their order cannot be derived: a signal follows all earlier awaits.
void MoveList::signal(int peer) {
  result_.moves.push_back({.kind = MoveKind::send, .peer = peer, .after = awaited_});
}

void MoveList::await(int peer) {
  awaited_.push_back(static_cast<int>(result_.moves.size()));
  result_.moves.push_back({.kind = MoveKind::receive, .peer = peer});
}

// Each segment is a move of its own, whose dependencies are those of its own elements: this lets
// the next step begin with the first segment.
void MoveList::add_in_segments(const Move& whole) {
  std::int64_t length = std::max(whole.from.elements.extent(), whole.to.elements.extent());
  std::int64_t segment = segment_ > 0 ? segment_ : length;
  for (std::int64_t offset = 0; offset < length; offset += segment) {
    Move move = whole;
    std::vector<Access> accesses;
    if (!whole.from.elements.empty()) {
      move.from.elements = part(whole.from.elements, offset, segment);
      accesses.push_back({.piece = move.from});
    }
    if (!whole.to.elements.empty()) {
      move.to.elements = part(whole.to.elements, offset, segment);
      accesses.push_back({.piece = move.to, .writes = true});
    }
    if (move.kind == MoveKind::reduce_both) {
      // It also writes to all current loans.
      for (int lender : lenders_)
        accesses.push_back({{Space::borrowed, move.to.elements}, lender, true});
    }
    add(std::move(move), accesses);
  }
}

void MoveList::add(Move move, const std::vector<Access>& accesses) {
  int index = static_cast<int>(result_.moves.size());
  for (const Access& access : accesses)
    accesses_[{access.piece.space, access.owner}].touch(access.piece.elements, index, access.writes,
                                                        move.after);
  // Several cells may have the same last writer.
  std::ranges::sort(move.after);
  move.after.erase(std::unique(move.after.begin(), move.after.end()), move.after.end());
  result_.moves.push_back(std::move(move));
}

// A write waits for the readers since the last write; they waited for that writer, so it need not
// be listed.
void AccessMap::touch(Range elements, int move, bool writes, std::vector<int>& after) {
  split(elements.begin);
  split(elements.end);
  cover(elements);
  auto first = cells_.find(elements.begin), last = cells_.lower_bound(elements.end);
  for (auto cell = first; cell != last; ++cell) {
    if (writes && !cell->second.readers.empty())
      after.insert(after.end(), cell->second.readers.begin(), cell->second.readers.end());
    else if (cell->second.writer >= 0)
      after.push_back(cell->second.writer);
    if (!writes) cell->second.readers.push_back(move);
  }
  if (!writes) return;
  // One cell instead of many: earlier readers and writers are covered by this write.
  cells_.erase(first, last);
  cells_[elements.begin] = {.end = elements.end, .writer = move};
}

/// Makes `at` a boundary between cells, if it lies inside one.
void AccessMap::split(std::int64_t at) {
  auto next = cells_.upper_bound(at);
  if (next == cells_.begin()) return;
  auto& [begin, cell] = *std::prev(next);
  if (begin == at || cell.end <= at) return;
  cells_[at] = cell;
  cell.end = at;
}

/// Creates cells for the memory in between that was not accessed yet.
void AccessMap::cover(Range elements) {
  std::int64_t at = elements.begin;
  while (at < elements.end) {
    auto next = cells_.lower_bound(at);
    if (next != cells_.end() && next->first == at) {
      at = next->second.end;
      continue;
    }
    std::int64_t end = next == cells_.end() ? elements.end : std::min(next->first, elements.end);
    cells_[at] = {.end = end};
    at = end;
  }
}

}  // namespace troika
