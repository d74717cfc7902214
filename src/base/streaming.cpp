#include "base/streaming.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace troika {
namespace {

// The size of a cache line on x86. A line that is written in full need not be read first.
constexpr std::size_t kLine = 64;

// Not under the thread sanitizer, for the reason given in vectorized.h.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)

__attribute__((target("avx512f"))) void stream_lines(std::byte* to, const std::byte* from,
                                                     std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += sizeof(__m512i))
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + at), _mm512_loadu_si512(from + at));
}

__attribute__((target("avx"))) void stream_lines(std::byte* to, const std::byte* from,
                                                 std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += sizeof(__m256i))
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + at),
                        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at)));
}

__attribute__((target("default"))) void stream_lines(std::byte* to, const std::byte* from,
                                                     std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += sizeof(__m128i))
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + at),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at)));
}

#else

void stream_lines(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}

#endif

}  // namespace

void stream_copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes == 0) return;
  // Bytes up to the next line: -address modulo a power of two. Streaming stores need aligned
  // addresses.
  std::size_t head = std::min(bytes, -reinterpret_cast<std::uintptr_t>(to) % kLine),
              lines = (bytes - head) / kLine * kLine, done = head + lines;
  std::memcpy(to, from, head);
  stream_lines(to + head, from + head, lines);
  std::memcpy(to + done, from + done, bytes - done);
}

void stream_end() {
#if defined(__x86_64__)
  // Non-temporal stores are weakly ordered: without a fence a later flag could be visible first.
  _mm_sfence();
#endif
}

}  // namespace troika
