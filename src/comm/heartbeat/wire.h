// Writes and reads numbers (little-endian) and texts as bytes; reading never runs past the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troika {

using WireBytes = std::vector<std::byte>;

class WireWriter {
 public:
  template <class Number>
  WireWriter& number(Number value) {
    for (std::size_t at = 0; at < sizeof(Number); ++at) {
      bytes_.push_back(static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * at)));
    }
    return *this;
  }
  /// Longer texts are truncated.
  WireWriter& text(std::string_view text, std::size_t longest);
  WireWriter& raw(std::span<const std::byte> bytes);

  const WireBytes& bytes() const { return bytes_; }

 private:
  WireBytes bytes_;
};

/// After a read past the end everything reads as zero and good() is false.
class WireReader {
 public:
  explicit WireReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class Number>
  Number number() {
    std::uint64_t value = 0;
    auto part = take(sizeof(Number));
    for (std::size_t at = 0; at < part.size(); ++at) {
      value |= std::to_integer<std::uint64_t>(part[at]) << (8 * at);
    }
    return static_cast<Number>(value);
  }
  std::string text(std::size_t longest);

  bool good() const { return good_; }
  /// Returns true if all bytes were read and no read failed.
  bool complete() const { return good_ && bytes_.empty(); }

 private:
  std::span<const std::byte> take(std::size_t count);

  std::span<const std::byte> bytes_;
  bool good_ = true;
};

}  // namespace troika
