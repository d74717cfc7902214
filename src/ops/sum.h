// y = (x1 + x2 + …) / copies of equal shapes: gradients of a tensor with several readers, sums over
// micro-batches, and shares of numbers that several devices have. Inserted by lowering.
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

struct Sum {
  static constexpr std::string_view kName = "sum";
  std::int64_t count = 2;
  /// As many devices have the same numbers and add them up later, so each brings its share.
  std::int64_t copies = 1;

  static void fields(auto& self, auto&& visit) {
    visit("count", self.count);
    visit("copies", self.copies);
  }
  bool operator==(const Sum&) const = default;
};

Signature signature(const Sum& op, std::span<const TensorSpec> inputs);

}  // namespace troika
