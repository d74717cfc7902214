#include "ops/attention.h"

#include "ops/require.h"

namespace troika {
namespace {

struct Extents {
  std::int64_t samples, queries, keys, width;  ///< width is d, of one head.
};

Extents extents_of(const Attention& op, std::span<const TensorSpec> inputs) {
  require_inputs("attention", inputs, (op.packed ? 1 : 3) + (op.has_mask ? 1 : 0));
  const TensorSpec& q = inputs[0];
  // The last dimension of q is divided into one part of width d per head, or three if packed.
  std::int64_t parts = op.heads * (op.packed ? 3 : 1);
  require(op.heads > 0 && q.shape.rank() == 3 && q.shape[2] % parts == 0, "attention",
          "takes an input of rank 3 whose last extent is a multiple of ", parts, ", not ", q);
  Extents e{q.shape[0], q.shape[1], q.shape[1], q.shape[2] / parts};
  if (op.packed) {
    // A packed tile still holds all positions of its samples and heads, for keys and values. So the
    // number of its queries cannot follow from the shape.
    if (op.queries != 0) e.queries = op.queries;
    require(op.first_query >= 0 && op.first_query + e.queries <= e.keys, "attention",
            "has queries outside of ", q);
  } else {
    e.keys = inputs[1].shape.rank() == 3 ? inputs[1].shape[1] : 0;
    TensorSpec expected{{e.samples, e.keys, q.shape[2]}, q.dtype};
    require(inputs[1] == expected && inputs[2] == expected, "attention", "cannot join q ", q,
            ", k ", inputs[1], " and v ", inputs[2]);
  }
  require(!op.has_mask || inputs.back() == TensorSpec{{e.samples, e.keys}, q.dtype}, "attention",
          "takes a mask with one value per key, not ", inputs.back(), " with an input ", q);
  return e;
}

enum AttentionAxes { kSample, kHead, kQuery };

}  // namespace

Signature signature(const Attention& op, std::span<const TensorSpec> inputs) {
  Extents e = extents_of(op, inputs);
  AttentionSlots at(op);
  DType dtype = inputs[0].dtype;
  Signature s{.axes = {{"n", AxisKind::sample, e.samples},
                       {"head", AxisKind::parameter, op.heads},
                       {"q", AxisKind::attribute, e.queries}}};
  // Keys and values have no axis q: every tile of queries reads all of them, and the gradients of k
  // and v (of all of qkv if packed) are partial sums over the tiles of q.
  DimMap head = scaled(kHead, e.width);
  if (op.packed) {
    s.slots = {
        // Head-major, so that a range of heads is one contiguous range of the last dimension.
        {Role::input, "qkv", inputs[0], {along(kSample), whole_dim(), scaled(kHead, 3 * e.width)}}};
  } else {
    s.slots = {{Role::input, "q", inputs[0], {along(kSample), along(kQuery), head}},
               {Role::input, "k", inputs[1], {along(kSample), whole_dim(), head}},
               {Role::input, "v", inputs[2], {along(kSample), whole_dim(), head}}};
  }
  if (op.has_mask)
    s.slots.push_back({Role::input, "mask", inputs.back(), {along(kSample), whole_dim()}});
  s.slots.push_back({Role::output,
                     "y",
                     {{e.samples, e.queries, op.heads * e.width}, dtype},
                     {along(kSample), along(kQuery), head}});
  // Per query log(sum of exp(score)), from which backward recomputes the probabilities.
  s.slots.push_back({Role::saved,
                     "log_sum",
                     {{e.samples, op.heads, e.queries}, dtype},
                     {along(kSample), along(kHead), along(kQuery)}});

  // One matrix product per head. Forward takes two, q k^T and p v. Backward takes five: q k^T again
  // and the gradients of p, q, k and v.
  std::int64_t product =
      checked_product("attention", {2, e.samples, op.heads, e.queries, e.keys, e.width});
  PhaseSpec forward{.phase = Phase::forward, .flops = {2 * product}};
  for (int slot = 0; slot < at.y; ++slot) forward.uses.push_back(read(slot));
  PhaseSpec backward{.phase = Phase::backward, .uses = forward.uses, .flops = {5 * product}};
  forward.uses.insert(forward.uses.end(), {write(at.y), write(at.log_sum)});
  backward.uses.insert(backward.uses.end(), {read(at.y), read(at.log_sum), read_grad(at.y)});
  for (int slot = 0; slot <= at.v; ++slot) backward.uses.push_back(write_grad(slot));
  s.phases = {forward, backward};
  return s;
}

Attention localize(const Attention& op, const Signature&, const Region& tile) {
  Attention local = op;
  local.heads = tile[kHead].extent();
  // The causal mask compares positions in the whole sequence, not in the tile.
  if (op.causal) local.first_query += tile[kQuery].begin;
  if (op.packed) local.queries = tile[kQuery].extent();
  return local;
}

std::vector<std::int64_t> tile_position(const Attention& op, const Signature&, const Region& tile) {
  if (op.causal || !op.packed) return {};
  return {tile[kQuery].begin};
}

std::int64_t first_query(const Attention& op, std::span<const std::int64_t> position) {
  return op.first_query + (position.empty() ? 0 : position[0]);
}

}  // namespace troika
