// Stable 64-bit hashes: equal on every machine and in every run, so they may be stored in files.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string_view>

namespace troika {

/// FNV-1a (Fowler, Noll and Vo) with its 64-bit offset basis and prime. For names and fingerprints;
/// not cryptographic.
constexpr std::uint64_t hash_text(std::string_view text,
                                  std::uint64_t start = 0xcbf29ce484222325u) {
  std::uint64_t hash = start;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

/// Adds a word to a hash: a bijection of the hash for a given word. The multiplier is that of
/// SplitMix64 (Steele et al. 2014, doi:10.1145/2660193.2660195), which mixes well.
constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = std::rotl(hash ^ word, 29) * 0xbf58476d1ce4e5b9u;
  return hash ^ hash >> 32;
}

/// A fast checksum that processes eight bytes at a time. Detects any change within one aligned
/// 8-byte word; not cryptographic.
std::uint64_t checksum(std::span<const std::byte> bytes);

}  // namespace troika
