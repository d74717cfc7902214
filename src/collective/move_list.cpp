#include "collective/move_list.h"

#include <algorithm>

#include "base/error.h"

namespace troika {
namespace {

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

void MoveList::give_back(int peer, Range elements) {
  if (elements.empty()) return;
  Piece piece{Space::borrowed, elements};
  add({.kind = MoveKind::give_back, .peer = peer, .from = piece},
      {{.piece = piece, .owner = peer, .writes = true}});
  std::erase(lenders_, peer);
}

void MoveList::signal(int peer) {
  result_.moves.push_back({.kind = MoveKind::send, .peer = peer, .after = awaited_});
}

void MoveList::await(int peer) {
  awaited_.push_back(static_cast<int>(result_.moves.size()));
  result_.moves.push_back({.kind = MoveKind::receive, .peer = peer});
}

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
      for (int lender : lenders_)
        accesses.push_back({{Space::borrowed, move.to.elements}, lender, true});
    }
    add(std::move(move), accesses);
  }
}

void MoveList::add(Move move, const std::vector<Access>& accesses) {
  for (const Access& access : accesses) order_after_conflicts(move, access);
  std::ranges::sort(move.after);
  auto repeated = std::ranges::unique(move.after);
  move.after.erase(repeated.begin(), repeated.end());
  for (Access access : accesses) {
    access.move = static_cast<int>(result_.moves.size());
    accesses_.push_back(access);
  }
  result_.moves.push_back(std::move(move));
}

// What is overwritten need not be remembered: whoever comes later waits for the overwriting move.
void MoveList::order_after_conflicts(Move& move, const Access& access) {
  std::vector<Access> kept;
  kept.reserve(accesses_.size() + 2);
  for (const Access& earlier : accesses_) {
    Range both = intersect(earlier.piece.elements, access.piece.elements);
    if (earlier.piece.space != access.piece.space || earlier.owner != access.owner ||
        both.empty() || !(earlier.writes || access.writes)) {
      kept.push_back(earlier);
      continue;
    }
    move.after.push_back(earlier.move);
    if (!access.writes) {
      kept.push_back(earlier);
      continue;
    }
    for (Range rest : {Range{earlier.piece.elements.begin, both.begin},
                       Range{both.end, earlier.piece.elements.end}}) {
      if (rest.empty()) continue;
      kept.push_back(earlier);
      kept.back().piece.elements = rest;
    }
  }
  accesses_ = std::move(kept);
}

}  // namespace troika
