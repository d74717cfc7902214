// y is x0, x1, … one after another along dimension `dim`; backward splits the gradient likewise.
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

struct Concat {
  static constexpr std::string_view kName = "concat";
  std::int64_t dim = 0;  ///< May count from the end: -1 is the last.

  static void fields(auto& self, auto&& visit) { visit("dim", self.dim); }
  bool operator==(const Concat&) const = default;
};

/// One or more inputs whose shapes differ along dim only. Axes are the other dimensions.
Signature signature(const Concat& op, std::span<const TensorSpec> inputs);

}  // namespace troika
