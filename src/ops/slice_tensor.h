// y = x[.., begin:end, ..] along dimension `dim`; the gradient is zero outside.
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

struct SliceTensor {
  static constexpr std::string_view kName = "slice";
  std::int64_t dim = 0;  ///< May count from the end: -1 is the last.
  std::int64_t begin = 0;
  std::int64_t end = 0;

  static void fields(auto& self, auto&& visit) {
    visit("dim", self.dim);
    visit("begin", self.begin);
    visit("end", self.end);
  }
  bool operator==(const SliceTensor&) const = default;
};

/// Axes are the dimensions other than dim.
Signature signature(const SliceTensor& op, std::span<const TensorSpec> inputs);

}  // namespace troika
