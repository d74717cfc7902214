#include "kernels/cpu/streaming.h"

#include <algorithm>
#include <cstring>

namespace troika {
namespace {

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)

__attribute__((target("avx512f"))) void stream_lines(float* to, const float* from,
                                                     std::int64_t lines) {
  for (std::int64_t i = 0; i < lines * kLineFloats; i += 16)
    _mm512_stream_ps(to + i, _mm512_loadu_ps(from + i));
}

__attribute__((target("avx"))) void stream_lines(float* to, const float* from, std::int64_t lines) {
  for (std::int64_t i = 0; i < lines * kLineFloats; i += 8)
    _mm256_stream_ps(to + i, _mm256_loadu_ps(from + i));
}

__attribute__((target("default"))) void stream_lines(float* to, const float* from,
                                                     std::int64_t lines) {
  for (std::int64_t i = 0; i < lines * kLineFloats; i += 4)
    _mm_stream_ps(to + i, _mm_loadu_ps(from + i));
}

#else

void stream_lines(float* to, const float* from, std::int64_t lines) {
  std::copy_n(from, lines * kLineFloats, to);
}

#endif

}  // namespace

bool stores_whole_lines() {
#if defined(__x86_64__)
  static const bool whole = __builtin_cpu_supports("x86-64-v4");
  return whole;
#else
  return false;
#endif
}

void stream_copy(float* to, const float* from, std::int64_t count) {
  auto past = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) / 4 % kLineFloats);
  std::int64_t head = std::min(count, (kLineFloats - past) % kLineFloats),
               lines = (count - head) / kLineFloats;
  std::copy_n(from, head, to);
  stream_lines(to + head, from + head, lines);
  std::int64_t done = head + lines * kLineFloats;
  std::copy_n(from + done, count - done, to + done);
}

void stream_end() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace troika
