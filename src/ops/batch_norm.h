// Batch normalisation (Ioffe and Szegedy 2015, arXiv:1502.03167): each channel to mean 0 and
// variance 1, then gamma, beta. Statistics are taken per shard, a fixed part of the batch, so that
// they do not depend on how the work is split (law 2).
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

struct BatchNorm {
  static constexpr std::string_view kName = "batch_norm";
  double epsilon = 1e-5;
  bool training = true;     ///< Else y comes from the running statistics, and there is no backward.
  std::int64_t shards = 1;  ///< Equal consecutive parts of the samples.
  std::int64_t count =
      0;  ///< Elements of a whole shard and channel, where a tile holds fewer; 0 is what x holds.

  static void fields(auto& self, auto&& visit) {
    visit("epsilon", self.epsilon);
    visit("training", self.training);
    visit("shards", self.shards);
    visit("count", self.count);
  }
  bool operator==(const BatchNorm&) const = default;
};

/// Input x of rank 2 to 4, [n,c,…]. Forward writes, as the gradients of running_mean and
/// running_var, the sums over shards of their mean and unbiased variance: they add up over tiles
/// and micro-batches, and RunningAverage applies them.
Signature signature(const BatchNorm& op, std::span<const TensorSpec> inputs);
/// A tile holds whole shards or lies inside one; throws Error(usage) otherwise.
BatchNorm localize(const BatchNorm& op, const Signature& signature, const Region& tile);

}  // namespace troika
