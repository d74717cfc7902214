// Attention without the matrix of all scores, as in flash attention (Dao et al. 2022,
// arXiv:2205.14135): blocks of keys are processed one after another, with an online softmax
// (Milakov and Gimelshein 2018, arXiv:1805.02867).
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/vectorized.h"
#include "kernels/cpu/attention_blocks.h"
#include "kernels/cpu/offers.h"
#include "kernels/cpu/vector_math.h"

namespace troika {
namespace {

/// Per query: the largest score so far, and the sum of exp(score - largest).
struct RunningSoftmax {
  float largest[kQueryBlock], total[kQueryBlock];

  RunningSoftmax() {
    std::fill_n(largest, kQueryBlock, kHidden);
    std::fill_n(total, kQueryBlock, 0.0f);
  }
};

/// Adds the scores of more keys to the softmax and replaces them by exp(score - largest). `rescale`
/// receives the factors by which earlier results must be multiplied.
TROIKA_VECTORIZED void advance(RunningSoftmax& running, float* scores, std::int64_t keys,
                               float* rescale) {
  float largest[kQueryBlock], shift[kQueryBlock], total[kQueryBlock];
  for (std::int64_t lane = 0; lane < kQueryBlock; ++lane) largest[lane] = running.largest[lane];
  for (std::int64_t key = 0; key < keys; ++key) {
#pragma omp simd
    for (std::int64_t lane = 0; lane < kQueryBlock; ++lane) {
      float score = scores[key * kQueryBlock + lane];
      largest[lane] = score > largest[lane] ? score : largest[lane];
    }
  }
#pragma omp simd
  for (std::int64_t lane = 0; lane < kQueryBlock; ++lane) {
    // While all keys of a query are hidden, its largest score is minus infinity, and the difference
    // of two infinities would be NaN.
    shift[lane] = largest[lane] == kHidden ? 0.0f : largest[lane];
    float kept = vector_exp(running.largest[lane] - shift[lane]);
    rescale[lane] = running.largest[lane] == kHidden ? 0.0f : kept;
    total[lane] = rescale[lane] * running.total[lane];
  }
  for (std::int64_t key = 0; key < keys; ++key) {
#pragma omp simd
    for (std::int64_t lane = 0; lane < kQueryBlock; ++lane) {
      float score = scores[key * kQueryBlock + lane], power = vector_exp(score - shift[lane]);
      // vector_exp has a smallest result greater than 0, but a hidden key must count as nothing.
      power = score == kHidden ? 0.0f : power;
      scores[key * kQueryBlock + lane] = power;
      total[lane] += power;
    }
  }
  for (std::int64_t lane = 0; lane < kQueryBlock; ++lane) {
    running.largest[lane] = largest[lane];
    running.total[lane] = total[lane];
  }
}

TROIKA_VECTORIZED void scale_lanes(float* sums, std::int64_t rows, const float* factors) {
  for (std::int64_t row = 0; row < rows; ++row) {
#pragma omp simd
    for (std::int64_t lane = 0; lane < kQueryBlock; ++lane)
      sums[row * kQueryBlock + lane] *= factors[lane];
  }
}

/// Divides by the totals, which is done once at the end instead of once per block of keys. The
/// output of a query from which all keys are hidden is zero.
void finish(const RunningSoftmax& running, const float* sums, std::int64_t width, Range queries,
            const HeadRows& y, float* log_sum) {
  for (std::int64_t lane = 0; lane < queries.extent(); ++lane) {
    float total = running.total[lane], inverse = total == 0 ? 0.0f : 1 / total;
    float* row = y[queries.begin + lane];
    for (std::int64_t c = 0; c < width; ++c) row[c] = inverse * sums[c * kQueryBlock + lane];
    log_sum[lane] = total == 0 ? 0.0f : running.largest[lane] + std::log(total);
  }
}

std::int64_t forward_floats(const AttentionBlocks& blocks) {
  return kQueryBlock * (2 * blocks.width + kKeyBlock);
}

void forward_block(const AttentionBlocks& blocks, const Launch& launch, std::int64_t head,
                   Range queries, float* work) {
  auto operand = [&](int slot) { return launch.at(static_cast<std::size_t>(slot)); };
  HeadRows q = blocks.part(operand(blocks.at.q), AttentionBlocks::kQuery, head),
           k = blocks.part(operand(blocks.at.k), AttentionBlocks::kKey, head),
           v = blocks.part(operand(blocks.at.v), AttentionBlocks::kValue, head);
  std::int64_t width = blocks.width;
  float *turned_q = work, *sums = turned_q + kQueryBlock * width,
        *scores = sums + kQueryBlock * width;
  // Layouts: turned_q and sums are [channel][query], scores are [key][query].
  load_turned(q, blocks, queries, blocks.scale, turned_q);
  std::fill_n(sums, kQueryBlock * width, 0.0f);
  RunningSoftmax running;
  float rescale[kQueryBlock];
  for (std::int64_t key = 0, end = blocks.key_end(queries); key < end; key += kKeyBlock) {
    Range keys{key, std::min(key + kKeyBlock, end)};
    multiply({keys.extent(), kQueryBlock, width, k.from(key), turned_q, kQueryBlock, scores,
              kQueryBlock});
    blocks.hide(scores, keys, queries, blocks.mask(launch, head));
    // Earlier sums were taken relative to an earlier maximum, so they are scaled before more is
    // added.
    advance(running, scores, keys.extent(), rescale);
    scale_lanes(sums, width, rescale);
    multiply({width, kQueryBlock, keys.extent(), v.from(key).turned(), scores, kQueryBlock, sums,
              kQueryBlock, true});
  }
  finish(running, sums, width, queries, blocks.output(operand(blocks.at.y), head),
         operand(blocks.at.log_sum) + head * blocks.queries + queries.begin);
}

/// Heads come before blocks, so that the longer blocks of causal attention spread over the threads.
Loop forward(const AttentionBlocks& compiled) {
  return [compiled](const Launch& launch) {
    const AttentionBlocks blocks = compiled.placed(launch);
    std::int64_t heads = blocks.all_heads();
    for_items(launch, heads * blocks.query_blocks(), forward_floats(blocks),
              [&](std::int64_t item, float* work) {
                forward_block(blocks, launch, item % heads, blocks.query_block(item / heads), work);
              });
  };
}

}  // namespace

Offers offers(const Attention& op, const Request& request) {
  AttentionBlocks blocks(op, request.signature);
  bool is_forward = request.key.phase == Phase::forward;
  std::int64_t floats = is_forward ? forward_floats(blocks) : attention_backward_floats(blocks);
  Candidate candidate{.algorithm = "blocks",
                      .layouts = std::vector(request.operands.size(), Layout::plain)};
  candidate.scratch = {4 * floats * request.context.threads};
  return {
      offer_loop(request, candidate, is_forward ? forward(blocks) : attention_backward(blocks))};
}

}  // namespace troika
