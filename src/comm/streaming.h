// Copies that go past the caches, for results that nobody reads soon.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace troika {

/// Ends with plain stores where `to` is not aligned. Visible to other threads after end_streaming.
inline void stream_copy(std::byte* to, const std::byte* from, std::size_t bytes) {
#ifdef __SSE2__
  std::size_t head = -reinterpret_cast<std::uintptr_t>(to) % sizeof(__m128i);
  if (head > bytes) head = bytes;
  std::memcpy(to, from, head);
  for (; head + sizeof(__m128i) <= bytes; head += sizeof(__m128i)) {
    __m128i value = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + head));
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + head), value);
  }
  std::memcpy(to + head, from + head, bytes - head);
#else
  std::memcpy(to, from, bytes);
#endif
}

inline void end_streaming() {
#ifdef __SSE2__
  _mm_sfence();
#endif
}

}  // namespace troika
