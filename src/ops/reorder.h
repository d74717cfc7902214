// The same tensor in another layout. Inserted by lowering where the chosen kernels want different
// layouts.
#pragma once

#include <span>

#include "ops/signature.h"
#include "tensor/layout.h"

namespace troika {

std::span<const std::string_view> enum_names(Layout);

struct Reorder {
  static constexpr std::string_view kName = "reorder";
  Layout from = Layout::plain;
  Layout to = Layout::plain;

  static void fields(auto& self, auto&& visit) {
    visit("from", self.from);
    visit("to", self.to);
  }
  bool operator==(const Reorder&) const = default;
};

Signature signature(const Reorder& op, std::span<const TensorSpec> inputs);

}  // namespace troika
