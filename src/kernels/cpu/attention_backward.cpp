// Backward of flash attention (Dao et al. 2022, arXiv:2205.14135, appendix B.4). With
// p = exp(s - log_sum) and dp = dy v^T: ds = p * (dp - sum of y * dy). Scores are recomputed block
// by block.
#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/cpu/attention_blocks.h"
#include "kernels/cpu/loops.h"
#include "kernels/cpu/vector_math.h"

namespace troika {
namespace {

/// Scratch of one thread. Turned (transposed) tensors have one column per query, the others one
/// row.
struct BackwardWork {
  float *turned_q, *turned_dy, *turned_dq, *q, *dy, *scores, *products, *log_sum, *y_dy;

  BackwardWork(float* first, std::int64_t width) {
    std::int64_t turned = kQueryBlock * width, straight = kQueryBlock * pad_to_lanes(width);
    auto take = [&](std::int64_t floats) { return std::exchange(first, first + floats); };
    turned_q = take(turned), turned_dy = take(turned), turned_dq = take(turned);
    q = take(straight), dy = take(straight);
    scores = take(kKeyBlock * kQueryBlock), products = take(kKeyBlock * kQueryBlock);
    log_sum = take(kQueryBlock), y_dy = take(kQueryBlock);
  }
};

/// One head of one sample.
struct Head {
  HeadRows q, k, v, y, dy, dq, dk, dv;
  const float *log_sum, *mask;

  Head(const AttentionBlocks& blocks, const Launch& launch, std::int64_t head) {
    const AttentionSlots& at = blocks.at;
    // Operands: the slots up to log_sum, then dy, then the gradients of q, k and v.
    auto value = [&](int slot) { return launch.at(static_cast<std::size_t>(slot)); };
    auto gradient = [&](int slot) { return value(at.log_sum + 2 + slot); };
    q = blocks.part(value(at.q), AttentionBlocks::kQuery, head);
    k = blocks.part(value(at.k), AttentionBlocks::kKey, head);
    v = blocks.part(value(at.v), AttentionBlocks::kValue, head);
    y = blocks.output(value(at.y), head);
    dy = blocks.output(value(at.log_sum + 1), head);
    dq = blocks.part(gradient(at.q), AttentionBlocks::kQuery, head);
    dk = blocks.part(gradient(at.k), AttentionBlocks::kKey, head);
    dv = blocks.part(gradient(at.v), AttentionBlocks::kValue, head);
    log_sum = value(at.log_sum) + head * blocks.queries;
    mask = blocks.mask(launch, head);
  }
};

void clear_gradients(const AttentionBlocks& blocks, const Head& head) {
  // A packed tensor also has rows before and after the queries of a tile.
  std::int64_t first = blocks.op.packed ? -blocks.first : 0,
               rows = blocks.op.packed ? blocks.keys : blocks.queries;
  for (std::int64_t row = 0; row < rows; ++row)
    std::fill_n(head.dq[first + row], blocks.width, 0.0f);
  for (const HeadRows& gradient : {head.dk, head.dv}) {
    for (std::int64_t row = 0; row < blocks.keys; ++row)
      std::fill_n(gradient[row], blocks.width, 0.0f);
  }
}

/// factor * rows, padded to whole lanes.
void load_rows(const HeadRows& rows, Range queries, std::int64_t width, float factor, float* to) {
  std::int64_t padded = pad_to_lanes(width);
  for (std::int64_t row = queries.begin; row < queries.end; ++row, to += padded) {
    for (std::int64_t c = 0; c < width; ++c) to[c] = factor * rows[row][c];
    std::fill(to + width, to + padded, 0.0f);
  }
}

void load_queries(const AttentionBlocks& blocks, const Head& head, Range queries,
                  const BackwardWork& work) {
  // Queries and dy are needed twice: as lanes for the scores, as rows for the sums over queries.
  load_turned(head.q, blocks, queries, blocks.scale, work.turned_q);
  load_turned(head.dy, blocks, queries, 1, work.turned_dy);
  load_rows(head.q, queries, blocks.width, blocks.scale, work.q);
  load_rows(head.dy, queries, blocks.width, 1, work.dy);
  std::fill_n(work.turned_dq, kQueryBlock * blocks.width, 0.0f);
  std::fill_n(work.log_sum, kQueryBlock, 0.0f);
  std::fill_n(work.y_dy, kQueryBlock, 0.0f);
  for (std::int64_t lane = 0; lane < queries.extent(); ++lane) {
    const float *y = head.y[queries.begin + lane], *dy = head.dy[queries.begin + lane];
    work.log_sum[lane] = head.log_sum[queries.begin + lane];
    work.y_dy[lane] = sum_floats(0, blocks.width, [=](std::int64_t c) { return y[c] * dy[c]; });
  }
}

/// Replaces scores by p, and dp by ds without its factor `scale`.
TROIKA_VECTORIZED void differentiate(std::int64_t keys, float* scores, float* products,
                                     const float* log_sum, const float* y_dy) {
  for (std::int64_t at = 0; at < keys * kQueryBlock; at += kQueryBlock) {
#pragma omp simd
    for (std::int64_t lane = 0; lane < kQueryBlock; ++lane) {
      float score = scores[at + lane], p = vector_exp(score - log_sum[lane]);
      p = score == kHidden ? 0.0f : p;
      scores[at + lane] = p;
      products[at + lane] = p * (products[at + lane] - y_dy[lane]);
    }
  }
}

void backward_keys(const AttentionBlocks& blocks, const Head& head, Range queries, Range keys,
                   const BackwardWork& work) {
  std::int64_t width = blocks.width, padded = pad_to_lanes(width), first = keys.begin,
               count = keys.extent();
  // Scores s = k q^T and products dp = v dy^T, both [key][query].
  multiply({count, kQueryBlock, width, head.k.from(first), work.turned_q, kQueryBlock, work.scores,
            kQueryBlock});
  multiply({count, kQueryBlock, width, head.v.from(first), work.turned_dy, kQueryBlock,
            work.products, kQueryBlock});
  blocks.hide(work.scores, keys, queries, head.mask);
  differentiate(count, work.scores, work.products, work.log_sum, work.y_dy);
  Factor p{work.scores, kQueryBlock, 1}, ds{work.products, kQueryBlock, 1};
  // The depth ends with the last query: lanes after it hold p = 1, since their scores are 0.
  // work.q already has the factor `scale`, which completes dk; dq gets it at the end.
  multiply(
      {count, width, queries.extent(), p, work.dy, padded, head.dv[first], head.dv.stride, true});
  multiply(
      {count, width, queries.extent(), ds, work.q, padded, head.dk[first], head.dk.stride, true});
  multiply({width, kQueryBlock, count, head.k.from(first).turned(), work.products, kQueryBlock,
            work.turned_dq, kQueryBlock, true});
}

void backward_head(const AttentionBlocks& blocks, const Head& head, const BackwardWork& work) {
  clear_gradients(blocks, head);
  for (std::int64_t block = 0; block < blocks.query_blocks(); ++block) {
    Range queries = blocks.query_block(block);
    load_queries(blocks, head, queries, work);
    for (std::int64_t key = 0, end = blocks.key_end(queries); key < end; key += kKeyBlock)
      backward_keys(blocks, head, queries, {key, std::min(key + kKeyBlock, end)}, work);
    for (std::int64_t lane = 0; lane < queries.extent(); ++lane) {
      float* dq = head.dq[queries.begin + lane];
      for (std::int64_t c = 0; c < blocks.width; ++c)
        dq[c] = blocks.scale * work.turned_dq[c * kQueryBlock + lane];
    }
  }
}

}  // namespace

std::int64_t attention_backward_floats(const AttentionBlocks& blocks) {
  return kQueryBlock * (3 * blocks.width + 2 * pad_to_lanes(blocks.width) + 2 * kKeyBlock + 2);
}

/// A head is not divided, because all its queries add to the same keys and values.
Loop attention_backward(const AttentionBlocks& compiled) {
  return [compiled](const Launch& launch) {
    const AttentionBlocks blocks = compiled.placed(launch);
    for_items(launch, blocks.all_heads(), attention_backward_floats(blocks),
              [&](std::int64_t item, float* scratch) {
                backward_head(blocks, Head(blocks, launch, item),
                              BackwardWork(scratch, blocks.width));
              });
  };
}

}  // namespace troika
