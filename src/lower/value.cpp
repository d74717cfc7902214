#include "lower/value.h"

#include <algorithm>

namespace troika {

Spread spread_of(const std::vector<std::vector<ValuePiece>>& terms) {
  Spread spread;
  for (const std::vector<ValuePiece>& term : terms) {
    std::vector<Placed>& places = spread.terms.emplace_back();
    for (const ValuePiece& piece : term) places.push_back(piece.place);
  }
  return spread;
}

bool is_finished(const Value& value, const Region& region) {
  std::vector<Region> pieces;
  for (const ValuePiece& piece : value.finished) pieces.push_back(piece.place.region);
  return subtract(region, pieces).empty();
}

BufferId find_finished(const Value& value, const Placed& place) {
  auto found = std::ranges::find(value.finished, place, &ValuePiece::place);
  return found == value.finished.end() ? BufferId{} : found->buffer;
}

}  // namespace troika
