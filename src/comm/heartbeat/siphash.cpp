#include "comm/heartbeat/siphash.h"

#include <bit>

namespace troika {
namespace {

/// v0 to v3 of the paper are a to d.
struct State {
  std::uint64_t a, b, c, d;

  void mix(int rounds) {
    for (; rounds > 0; --rounds) {
      a += b, b = std::rotl(b, 13) ^ a, a = std::rotl(a, 32);
      c += d, d = std::rotl(d, 16) ^ c;
      a += d, d = std::rotl(d, 21) ^ a;
      c += b, b = std::rotl(b, 17) ^ c, c = std::rotl(c, 32);
    }
  }
  void absorb(std::uint64_t word) {
    d ^= word;
    mix(2);
    a ^= word;
  }
};

/// Little-endian, whatever the machine; `bytes` has eight at most.
std::uint64_t word_of(std::span<const std::byte> bytes) {
  std::uint64_t word = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    word |= std::to_integer<std::uint64_t>(bytes[at]) << (8 * at);
  }
  return word;
}

}  // namespace

std::uint64_t siphash(const SipKey& key, std::span<const std::byte> bytes) {
  // The constants are from the paper: "somepseudorandomlygeneratedbytes" in ASCII.
  State state{key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du,
              key[0] ^ 0x6c7967656e657261u, key[1] ^ 0x7465646279746573u};
  // The last word has the length modulo 256 in its top byte and the last 0 to 7 bytes below it.
  std::uint64_t length = std::uint64_t{bytes.size()} << 56;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) state.absorb(word_of(bytes.first(8)));
  state.absorb(length | word_of(bytes));
  // SipHash-2-4: two rounds per word (absorb), four at the end.
  state.c ^= 0xff;
  state.mix(4);
  return state.a ^ state.b ^ state.c ^ state.d;
}

}  // namespace troika
