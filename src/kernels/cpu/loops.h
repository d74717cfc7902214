// Parallel loops over elements. Threads get static shares, so results are reproducible bit by bit.
// Small tensors stay on one thread.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "base/vectorized.h"
#include "tensor/region.h"

namespace troika {

/// Below this many elements, waking the threads costs more than it saves.
inline constexpr std::int64_t kSmallLoop = 8192;
/// Sums are made of blocks of this size, added in order, so that they do not depend on the number
/// of threads.
inline constexpr std::int64_t kSumBlock = 4096;

template <class F>
TROIKA_VECTORIZED void run_range(std::int64_t begin, std::int64_t end, const F& f) {
  F local = f;  // a copy cannot alias what the loop writes
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) local(i);
}

template <class F>
TROIKA_VECTORIZED double sum_range(std::int64_t begin, std::int64_t end, const F& f) {
  F local = f;
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = begin; i < end; ++i) sum += local(i);
  return sum;
}

/// A sum of a few hundred terms in f32, which vectorises better than f64 if terms are costly.
template <class F>
TROIKA_VECTORIZED float sum_floats(std::int64_t begin, std::int64_t end, const F& f) {
  F local = f;
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = begin; i < end; ++i) sum += local(i);
  return sum;
}

template <class F>
TROIKA_VECTORIZED float max_range(std::int64_t begin, std::int64_t end, const F& f) {
  F local = f;
  float largest = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : largest)
  for (std::int64_t i = begin; i < end; ++i) {
    float value = local(i);
    largest = value > largest ? value : largest;
  }
  return largest;
}

/// Calls f(begin, end) for one share per thread; `grain` elements stay together.
template <class F>
void for_shares(int threads, std::int64_t count, std::int64_t grain, const F& f) {
#pragma omp parallel for schedule(static, 1) num_threads(threads)
  for (int share = 0; share < threads; ++share) {
    Range part = part_of((count + grain - 1) / grain, share, threads);
    std::int64_t end = part.end * grain < count ? part.end * grain : count;
    if (part.begin * grain < end) f(part.begin * grain, end);
  }
}

/// f(i) for each element; iterations must not depend on one another, though i may read what i
/// overwrites.
template <class F>
void for_elements(int threads, std::int64_t count, const F& f) {
  if (threads == 1 || count < kSmallLoop) return run_range(0, count, f);
  for_shares(threads, count, 64,
             [&](std::int64_t begin, std::int64_t end) { run_range(begin, end, f); });
}

/// f(row) for rows of `length` elements each.
template <class F>
void for_rows(int threads, std::int64_t rows, std::int64_t length, const F& f) {
  if (threads == 1 || rows * length < kSmallLoop) {
    for (std::int64_t row = 0; row < rows; ++row) f(row);
    return;
  }
#pragma omp parallel for schedule(static) num_threads(threads)
  for (std::int64_t row = 0; row < rows; ++row) f(row);
}

inline std::int64_t sum_blocks(std::int64_t count) { return (count + kSumBlock - 1) / kSumBlock; }

/// The sum of f(i); `partials` holds sum_blocks(count) numbers.
template <class F>
double sum_elements(int threads, std::int64_t count, double* partials, const F& f) {
  std::int64_t blocks = sum_blocks(count);
  for_rows(threads, blocks, kSumBlock, [&](std::int64_t block) {
    std::int64_t end = (block + 1) * kSumBlock;
    partials[block] = sum_range(block * kSumBlock, end < count ? end : count, f);
  });
  double sum = 0;
  for (std::int64_t block = 0; block < blocks; ++block) sum += partials[block];
  return sum;
}

}  // namespace troika
