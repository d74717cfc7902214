// Attention seen as blocks of queries against blocks of keys. Inside a block the queries are the
// vector lanes, so that keys and values are read without a copy and the softmax needs no sums
// across lanes.
#pragma once

#include <limits>

#include "kernels/cpu/lane_product.h"
#include "kernels/cpu/offers.h"
#include "ops/attention.h"

namespace troika {

/// A block of scores takes 16 KiB, half of a first-level cache of 32 KiB.
inline constexpr std::int64_t kQueryBlock = 64, kKeyBlock = 64;
/// The score of a key that a query may not see.
inline constexpr float kHidden = -std::numeric_limits<float>::infinity();

/// The rows of one head of one sample in [n, t, heads*d] or in the packed tensor.
struct HeadRows {
  float* first;
  std::int64_t stride;

  float* operator[](std::int64_t row) const { return first + row * stride; }
  Factor from(std::int64_t row) const { return {(*this)[row], stride, 1}; }
};

struct AttentionBlocks {
  enum Part { kQuery, kKey, kValue };

  AttentionBlocks(const Attention& attention, const Signature& signature);
  /// The same with the first query of a launch.
  AttentionBlocks placed(const Launch& launch) const;

  /// `head` counts the heads of all samples.
  HeadRows part(float* tensor, Part which, std::int64_t head) const;
  HeadRows output(float* tensor, std::int64_t head) const;
  const float* mask(const Launch& launch, std::int64_t head) const;

  std::int64_t all_heads() const { return samples * op.heads; }
  std::int64_t query_blocks() const { return (queries + kQueryBlock - 1) / kQueryBlock; }
  Range query_block(std::int64_t block) const;
  /// All keys from this one on are hidden from all queries of the block.
  std::int64_t key_end(Range query_range) const;
  /// Sets the scores of hidden keys to minus infinity. `scores` has one row of kQueryBlock per key.
  void hide(float* scores, Range key_range, Range query_range, const float* mask_row) const;

  Attention op;
  AttentionSlots at;
  std::int64_t samples, queries, keys, width;
  float scale;             ///< 1/sqrt(d)
  std::int64_t first = 0;  ///< Position of the first query.
};

/// Stores the transpose of factor * rows: one column per query of the block, zeros for missing
/// queries.
void load_turned(const HeadRows& rows, const AttentionBlocks& blocks, Range query_range,
                 float factor, float* to);

Loop attention_backward(const AttentionBlocks& blocks);
/// Floats of scratch per thread.
std::int64_t attention_backward_floats(const AttentionBlocks& blocks);

/// Calls f(item, scratch of the thread) for independent items.
template <class F>
void for_items(const Launch& launch, std::int64_t items, std::int64_t floats_per_thread,
               const F& f) {
#pragma omp parallel for schedule(static, 1) num_threads(launch.threads)
  for (int thread = 0; thread < launch.threads; ++thread) {
    float* work = launch.work() + thread * floats_per_thread;
    for (std::int64_t item = thread; item < items; item += launch.threads) f(item, work);
  }
}

}  // namespace troika
