// SipHash-2-4, a keyed hash: the proof that a frame comes from a rank of this run. Aumasson and
// Bernstein 2012, doi:10.1007/978-3-642-34931-7_28. Libraries have it (libsodium, OpenSSL), but
// would be one more dependency for forty lines.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace troika {

using SipKey = std::array<std::uint64_t, 2>;

std::uint64_t siphash(const SipKey& key, std::span<const std::byte> bytes);

}  // namespace troika
