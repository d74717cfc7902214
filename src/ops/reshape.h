// y has the elements of x in the same row-major order under another shape. Forward and backward are
// views.
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

struct Reshape {
  static constexpr std::string_view kName = "reshape";
  /// One extent may be -1, which is computed from the rest; 0 copies the extent of that dimension
  /// of x.
  std::vector<std::int64_t> shape{};

  static void fields(auto& self, auto&& visit) { visit("shape", self.shape); }
  bool operator==(const Reshape&) const = default;
};

/// Dimensions of x and y are paired into the smallest groups of equal product. Each group has one
/// axis, named by the index of the group. Its extent is the greatest common divisor of the
/// outermost extents, so that a tile is a box in x and in y.
Signature signature(const Reshape& op, std::span<const TensorSpec> inputs);
Reshape localize(const Reshape& op, const Signature& signature, const Region& tile);

}  // namespace troika
