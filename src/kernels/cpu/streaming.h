// Streaming: non-temporal stores, which bypass the caches, for outputs so long that no cache would
// hold them until they are read. Ordinary stores would fetch every line before overwriting it.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/streaming.h"
#include "kernels/cpu/loops.h"
#include "kernels/cpu/vector_lanes.h"

namespace troika {

/// Outputs of at least this many floats (8 MiB) are streamed.
inline constexpr std::int64_t kStreamed = 1 << 21;
inline constexpr std::int64_t kLineFloats = 16;

/// Returns whether one store of this processor fills a cache line. Non-temporal stores of a part of
/// a line would be slower than ordinary ones.
inline bool stores_whole_lines() { return widest_vector() == 16; }

/// stream_copy() of base/streaming.h for floats.
inline void stream_copy(float* to, const float* from, std::int64_t count) {
  stream_copy(reinterpret_cast<std::byte*>(to), reinterpret_cast<const std::byte*>(from),
              static_cast<std::size_t>(count) * sizeof(float));
}

inline bool at_line(const float* address) {
  return reinterpret_cast<std::uintptr_t>(address) % (4 * kLineFloats) == 0;
}

/// Writes f(row, column) to rows of whole lines, one after another in memory from a line's begin
/// on. Only where stores_whole_lines().
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
template <class F>
__attribute__((flatten, target("arch=x86-64-v4"))) void stream_rows(float* to, std::int64_t rows,
                                                                    std::int64_t columns,
                                                                    const F& f) {
  F local = f;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; column += kLineFloats, to += kLineFloats) {
      alignas(64) float line[kLineFloats];
#pragma omp simd
      for (std::int64_t i = 0; i < kLineFloats; ++i) line[i] = local(row, column + i);
      _mm512_stream_ps(to, _mm512_load_ps(line));
    }
  }
}
#else
template <class F>
void stream_rows(float* to, std::int64_t rows, std::int64_t columns, const F& f) {
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < columns; ++column)
      to[row * columns + column] = f(row, column);
}
#endif

/// to[i] = f(i) for i in [begin, end); stream_end() must follow.
template <class F>
void stream_range(std::int64_t begin, std::int64_t end, float* to, const F& f) {
  auto store = [=](std::int64_t i) { to[i] = f(i); };
  std::int64_t first = begin;
  while (first < end && !at_line(to + first)) ++first;
  std::int64_t length = (end - first) / kLineFloats * kLineFloats;
  run_range(begin, first, store);
  stream_rows(to + first, 1, length, [=](std::int64_t, std::int64_t i) { return f(first + i); });
  run_range(first + length, end, store);
}

/// y[i] = f(i) for each element. Not streamed if y is one of the inputs (`in_place`), because their
/// lines are in a cache anyway.
template <class F>
void for_outputs(int threads, std::int64_t count, float* y, bool in_place, const F& f) {
  if (count < kStreamed || in_place || !stores_whole_lines())
    return for_elements(threads, count, [=](std::int64_t i) { y[i] = f(i); });
  for_shares(threads, count, 64, [&](std::int64_t begin, std::int64_t end) {
    stream_range(begin, end, y, f);
    stream_end();
  });
}

}  // namespace troika
