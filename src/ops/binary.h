// y = a + b or a * b, element by element, with broadcasting from the right as in NumPy.
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

enum class BinaryKind { add, multiply };
std::span<const std::string_view> enum_names(BinaryKind);

struct Binary {
  static constexpr std::string_view kName = "binary";
  BinaryKind kind = BinaryKind::add;

  static void fields(auto& self, auto&& visit) { visit("kind", self.kind); }
  bool operator==(const Binary&) const = default;
};

/// Backward: backward_data is the gradient of a, backward_weight the gradient of b.
Signature signature(const Binary& op, std::span<const TensorSpec> inputs);

}  // namespace troika
