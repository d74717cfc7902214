// y[n.., o] = sum over i of x[n.., i] * w[o, i]. The bias is a separate operator, so that
// a split sum does not add it twice.
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

struct Linear {
  static constexpr std::string_view kName = "linear";
  std::int64_t out = 0;

  static void fields(auto& self, auto&& visit) { visit("out", self.out); }
  bool operator==(const Linear&) const = default;
};

Signature signature(const Linear& op, std::span<const TensorSpec> inputs);
Linear localize(const Linear& op, const Signature& signature, const Region& tile);

}  // namespace troika
