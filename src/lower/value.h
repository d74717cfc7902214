// A tensor as lowering sees it: pieces of it in buffers on devices, finished or still to be added
// up.
#pragma once

#include <string>
#include <vector>

#include "lower/redistribute.h"
#include "taskgraph/task_graph.h"

namespace troika {

struct ValuePiece {
  Placed place;
  BufferId buffer;

  bool operator==(const ValuePiece&) const = default;
};

/// The value of an element is what any finished piece has of it, or else the combination of what
/// the terms have (as in Spread). Pieces of one term that overlap hold the same values.
struct Value {
  std::string name;
  TensorSpec spec;  ///< Of the whole tensor.
  Category category = Category::activation;
  Combine combine = Combine::sum;
  std::vector<ValuePiece> finished{};
  std::vector<std::vector<ValuePiece>> terms{};
  /// How many terms each contribution brought, in their order, until they are merged.
  std::vector<std::size_t> runs{};

  bool empty() const { return finished.empty() && terms.empty(); }
  /// What is put together to meet needs: the finished pieces as the only term, or the terms.
  std::vector<std::vector<ValuePiece>> sources(bool from_finished) const {
    return from_finished ? std::vector<std::vector<ValuePiece>>{finished} : terms;
  }
};

/// The places of the pieces, for redistribute.h.
Spread spread_of(const std::vector<std::vector<ValuePiece>>& terms);

/// Whether the finished pieces have every element of the region.
bool is_finished(const Value& value, const Region& region);

/// The finished piece at just this place; invalid: there is none.
BufferId find_finished(const Value& value, const Placed& place);

}  // namespace troika
