// Reorders of our own, between the layouts that a step changes most often.
#pragma once

#include <optional>

#include "kernels/cpu/offer.h"
#include "ops/reorder.h"

namespace troika {

/// Empty for pairs of layouts that it does not know. Operands: from, to.
std::optional<Loop> block_reorder(const Reorder& op, const Shape& shape);

}  // namespace troika
