// Attention layers: projections around the attention operator.
#pragma once

#include "graph/layers.h"

namespace troika::layers {

struct AttentionOptions {
  std::int64_t heads = 1;
  bool causal = false;
  std::optional<TensorId> mask{};      ///< [n, keys]: 1 = attend, 0 = ignore.
  std::optional<Init> init{};          ///< Projections to queries, keys and values.
  std::optional<Init> project_init{};  ///< Projection of the result.
};

/// x [n,t,d] → [n,t,d]. One projection NAME.qkv to [n,t,3d], head-major, so that a split gives each
/// tile q, k and v of whole heads; the operator NAME; and the projection NAME.proj.
TensorId self_attention(GraphBuilder& b, const std::string& name, TensorId x,
                        const AttentionOptions& options);

/// Queries from x [n,t,d], keys and values from `memory` [n,s,e]: projections NAME.query, NAME.key,
/// NAME.value and NAME.proj, all to d.
TensorId cross_attention(GraphBuilder& b, const std::string& name, TensorId x, TensorId memory,
                         const AttentionOptions& options);

}  // namespace troika::layers
