// y = x1 + x2 + … of equal shapes: gradients of a tensor with several readers, and sums over
// micro-batches. Inserted by lowering.
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

struct Sum {
  static constexpr std::string_view kName = "sum";
  std::int64_t count = 2;

  static void fields(auto& self, auto&& visit) { visit("count", self.count); }
  bool operator==(const Sum&) const = default;
};

Signature signature(const Sum& op, std::span<const TensorSpec> inputs);

}  // namespace troika
