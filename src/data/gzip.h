// Unpacking of gzip files (RFC 1952), with length and CRC checked.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace troika::data {

/// A larger file must be unpacked on disk, where it can be mapped.
inline constexpr std::size_t kInflateLimit = std::size_t{4} << 30;

bool looks_like_gzip(std::span<const std::byte> bytes);

/// Unpacks all members, one after another. Memory grows with the actual output, never with a size
/// that a header states. Throws Error(file) naming `path` and the offset when the bytes are
/// damaged, cut short, or unpack beyond `limit`.
std::vector<std::byte> inflate_gzip(std::span<const std::byte> packed, const std::string& path,
                                    std::size_t limit = kInflateLimit);

}  // namespace troika::data
