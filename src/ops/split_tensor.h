// y0, y1, … are consecutive parts of x along dimension `dim`, of the given sizes: the inverse of
// concat.
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

struct SplitTensor {
  static constexpr std::string_view kName = "split";
  std::int64_t dim = 0;  ///< May count from the end: -1 is the last.
  std::vector<std::int64_t> sizes{};

  static void fields(auto& self, auto&& visit) {
    visit("dim", self.dim);
    visit("sizes", self.sizes);
  }
  bool operator==(const SplitTensor&) const = default;
};

/// One output per size. Axes are the dimensions other than dim.
Signature signature(const SplitTensor& op, std::span<const TensorSpec> inputs);

}  // namespace troika
