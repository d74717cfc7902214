// SipHash-2-4, a keyed hash that nobody without the key can compute: the proof that a frame comes
// from a rank of this run. Aumasson and Bernstein 2012, doi:10.1007/978-3-642-34931-7_28. The
// libraries that have it (libsodium, OpenSSL) would be one more thing to install for forty lines.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace troika {

using SipKey = std::array<std::uint64_t, 2>;

std::uint64_t siphash(const SipKey& key, std::span<const std::byte> bytes);

}  // namespace troika
