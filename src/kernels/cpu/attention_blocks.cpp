#include "kernels/cpu/attention_blocks.h"

#include <algorithm>
#include <cmath>

namespace troika {

AttentionBlocks::AttentionBlocks(const Attention& attention, const Signature& signature)
    : op(attention), at(attention) {
  auto shape = [&](int slot) -> const Shape& {
    return signature.slots[static_cast<std::size_t>(slot)].spec.shape;
  };
  samples = shape(at.y)[0];
  queries = shape(at.y)[1];
  keys = shape(at.k)[1];
  width = shape(at.y)[2] / op.heads;
  scale = 1 / std::sqrt(static_cast<float>(width));
}

AttentionBlocks AttentionBlocks::placed(const Launch& launch) const {
  AttentionBlocks blocks = *this;
  blocks.first = first_query(op, launch.position);
  return blocks;
}

// Packed, a row holds q, k and v of a head side by side, and queries are rows of the same tensor.
HeadRows AttentionBlocks::part(float* tensor, Part which, std::int64_t head) const {
  std::int64_t per_head = op.packed ? 3 * width : width, stride = op.heads * per_head;
  bool own_rows = which == kQuery && !op.packed;
  std::int64_t row =
      head / op.heads * (own_rows ? queries : keys) + (op.packed && which == kQuery ? first : 0);
  return {tensor + row * stride + head % op.heads * per_head + (op.packed ? which * width : 0),
          stride};
}

HeadRows AttentionBlocks::output(float* tensor, std::int64_t head) const {
  std::int64_t stride = op.heads * width;
  return {tensor + head / op.heads * queries * stride + head % op.heads * width, stride};
}

const float* AttentionBlocks::mask(const Launch& launch, std::int64_t head) const {
  return op.has_mask ? launch.at(static_cast<std::size_t>(at.mask)) + head / op.heads * keys
                     : nullptr;
}

Range AttentionBlocks::query_block(std::int64_t block) const {
  return {block * kQueryBlock, std::min((block + 1) * kQueryBlock, queries)};
}

// The last query of the block sees the most keys.
std::int64_t AttentionBlocks::key_end(Range query_range) const {
  return op.causal ? std::min(keys, first + query_range.end) : keys;
}

void AttentionBlocks::hide(float* scores, Range key_range, Range query_range,
                           const float* mask_row) const {
  for (std::int64_t key = key_range.begin; key < key_range.end; ++key, scores += kQueryBlock) {
    std::int64_t hidden = 0;  // lanes, from the first on
    // Lane i is query first + begin + i, which sees keys up to its own number.
    if (op.causal)
      hidden = std::clamp<std::int64_t>(key - first - query_range.begin, 0, kQueryBlock);
    if (mask_row != nullptr && mask_row[key] == 0) hidden = kQueryBlock;
    std::fill_n(scores, hidden, kHidden);
  }
}

void load_turned(const HeadRows& rows, const AttentionBlocks& blocks, Range query_range,
                 float factor, float* to) {
  for (std::int64_t lane = 0; lane < kQueryBlock; ++lane) {
    bool there = lane < query_range.extent();
    // There may be no rows after the last query, so missing lanes point at one that exists.
    const float* from = rows[query_range.begin + (there ? lane : 0)];
    for (std::int64_t c = 0; c < blocks.width; ++c)
      to[c * kQueryBlock + lane] = there ? factor * from[c] : 0.0f;
  }
}

}  // namespace troika
