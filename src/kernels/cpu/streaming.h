// Stores that pass the caches by: for outputs so long that no cache holds them until they are read.
// Ordinary stores would fetch every line before it is overwritten.
#pragma once

#include <cstdint>

#include "kernels/cpu/loops.h"

namespace troika {

/// Outputs of so many floats are streamed.
inline constexpr std::int64_t kStreamed = 1 << 21;
/// Streamed loops compute so many floats at a time, inside the nearest cache.
inline constexpr std::int64_t kStreamChunk = 512;

/// Copies; stream_end() must follow on the same thread before another one reads.
void stream_copy(float* to, const float* from, std::int64_t count);
void stream_end();

/// to[i] = f(i) for i in [begin, end), streamed.
template <class F>
void stream_range(std::int64_t begin, std::int64_t end, float* to, const F& f) {
  alignas(64) float chunk[kStreamChunk];
  for (std::int64_t at = begin; at < end; at += kStreamChunk) {
    std::int64_t count = end - at < kStreamChunk ? end - at : kStreamChunk;
    run_range(0, count, [=, values = &chunk[0]](std::int64_t i) { values[i] = f(at + i); });
    stream_copy(to + at, chunk, count);
  }
  stream_end();
}

/// y[i] = f(i) for each element. Not streamed where y is one of the inputs, whose lines are at hand
/// anyway: `in_place` says so.
template <class F>
void for_outputs(int threads, std::int64_t count, float* y, bool in_place, const F& f) {
  if (count < kStreamed || in_place)
    return for_elements(threads, count, [=](std::int64_t i) { y[i] = f(i); });
  for_shares(threads, count, kStreamChunk,
             [&](std::int64_t begin, std::int64_t end) { stream_range(begin, end, y, f); });
}

}  // namespace troika
