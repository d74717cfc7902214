// Scaled dot-product attention per head: y = softmax(q k^T / sqrt(d)) v (Vaswani et al. 2017,
// arXiv:1706.03762). The matrix of probabilities is not stored: backward recomputes p = exp(s -
// log_sum) (Dao et al. 2022, arXiv:2205.14135).
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

struct Attention {
  static constexpr std::string_view kName = "attention";
  std::int64_t heads = 1;
  bool causal = false;  ///< Query i of a tile sees key j iff j <= first_query + i.
  bool packed = false;  ///< One input [n, t, heads*3*d], head-major: q, k and v of a head together.
  /// The last input is a mask [n, tk]: 1 = attend, 0 = ignore. A query without any key gives zeros.
  bool has_mask = false;
  /// Causal: position of the first query of this tile. Part of the kernel key, because later
  /// queries see more keys and take longer.
  std::int64_t first_query = 0;
  std::int64_t queries = 0;  ///< Packed: number of queries of this tile; 0 means all.

  static void fields(auto& self, auto&& visit) {
    visit("heads", self.heads);
    visit("causal", self.causal);
    visit("packed", self.packed);
    visit("has_mask", self.has_mask);
    visit("first_query", self.first_query);
    visit("queries", self.queries);
  }
  bool operator==(const Attention&) const = default;
};

/// Inputs: q [n, tq, heads*d], k and v [n, tk, heads*d], or one packed tensor; then the mask.
/// Output y [n, tq, heads*d]. Axes: n, head (a set of heads) and q (a range of queries; keys and
/// values stay whole).
Signature signature(const Attention& op, std::span<const TensorSpec> inputs);
Attention localize(const Attention& op, const Signature& signature, const Region& tile);
/// Packed and not causal: the row of the first query in qkv. Causal attention has it in its
/// attributes; with an own tensor q it is always 0.
std::vector<std::int64_t> tile_position(const Attention& op, const Signature& signature,
                                        const Region& tile);
/// The position of the first query of a tile that is launched with `position`.
std::int64_t first_query(const Attention& op, std::span<const std::int64_t> position);

/// The index of each slot of the signature.
struct AttentionSlots {
  explicit AttentionSlots(const Attention& op)
      : k(op.packed ? 0 : 1),
        v(op.packed ? 0 : 2),
        mask(v + 1),
        y(v + 1 + (op.has_mask ? 1 : 0)),
        log_sum(y + 1) {}
  int q = 0, k, v, mask, y, log_sum;  ///< q, k and v are one slot when packed.
};

}  // namespace troika
