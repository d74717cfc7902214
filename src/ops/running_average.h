// The update of the running statistics of batch norm: r += momentum * (gradient/shards - r), where
// the "gradient" is the sum of the statistic over the shards of the step.
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

struct RunningAverage {
  static constexpr std::string_view kName = "running_average";
  double momentum = 0.1;
  std::int64_t shards = 1;  ///< Shards of the whole step.

  static void fields(auto& self, auto&& visit) {
    visit("momentum", self.momentum);
    visit("shards", self.shards);
  }
  bool operator==(const RunningAverage&) const = default;
};

/// Input: the spec of the running statistic.
Signature signature(const RunningAverage& op, std::span<const TensorSpec> inputs);

}  // namespace troika
