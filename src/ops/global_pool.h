// The average or the largest element of each channel: [n,c,h,w] -> [n,c].
#pragma once

#include "ops/pool2d.h"

namespace troika {

struct GlobalPool {
  static constexpr std::string_view kName = "global_pool";
  PoolKind kind = PoolKind::average;

  static void fields(auto& self, auto&& visit) { visit("kind", self.kind); }
  bool operator==(const GlobalPool&) const = default;
};

/// Backward of max searches x for the first largest element again.
Signature signature(const GlobalPool& op, std::span<const TensorSpec> inputs);

}  // namespace troika
