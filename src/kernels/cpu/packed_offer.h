// Our matrix products as candidates, in addition to those of oneDNN.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/cpu/epilogue.h"
#include "kernels/cpu/offers.h"
#include "kernels/cpu/packed_product.h"

namespace troika {

/// An operand as a factor: (i, j) is at i * row + j * column, and matrices of neighbouring batches
/// are `next` floats apart. `row` or `column` is 1.
struct PackedFactor {
  std::size_t operand;
  std::int64_t row, column;
  std::int64_t next = 0;

  PackedFactor turned() const { return {operand, column, row, next}; }
  Factor in(const Launch& launch, std::int64_t batch) const {
    return {launch.at(operand) + batch * next, row, column};
  }
};

/// c = a * b for each batch. The bias is operand 2, the residual is the last but one, c the last.
struct PackedOperands {
  ProductExtent extent;
  PackedFactor a, b;
  std::int64_t batches = 1;
  Tail tail{};
};

/// Adds the candidate "packed", unless packed_declined().
void add_packed(Offers& list, const Request& request, std::vector<Layout> layouts,
                const PackedOperands& operands);

/// Returns why packed products cannot run on this processor, or nothing if they can.
std::optional<std::string> packed_declined();

}  // namespace troika
