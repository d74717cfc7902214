// Batch normalisation (Ioffe and Szegedy 2015, arXiv:1502.03167): normalises each channel to mean 0
// and variance 1, then applies gamma and beta. Statistics are per shard, a fixed part of the batch,
// so that they do not depend on the split (law 2).
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

struct BatchNorm {
  static constexpr std::string_view kName = "batch_norm";
  double epsilon = 1e-5;
  bool training = true;     ///< If false, uses the running statistics; no backward.
  std::int64_t shards = 1;  ///< Equal consecutive parts of the samples.
  /// Elements per shard and channel if a tile holds fewer than a shard; 0 means those of x.
  std::int64_t count = 0;

  static void fields(auto& self, auto&& visit) {
    visit("epsilon", self.epsilon);
    visit("training", self.training);
    visit("shards", self.shards);
    visit("count", self.count);
  }
  bool operator==(const BatchNorm&) const = default;
};

/// Input x of rank 2 to 4, [n,c,…]. Forward writes the sums over shards of mean and unbiased
/// variance as the "gradients" of running_mean and running_var. These add up over tiles and
/// micro-batches, and RunningAverage applies them.
Signature signature(const BatchNorm& op, std::span<const TensorSpec> inputs);
/// Throws Error(usage) unless the tile holds whole shards or lies inside one.
BatchNorm localize(const BatchNorm& op, const Signature& signature, const Region& tile);

}  // namespace troika
