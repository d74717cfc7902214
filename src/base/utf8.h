// UTF-8 (RFC 3629), one character at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace troika {

inline constexpr char32_t kCodePoints = 0x110000;

struct Utf8Character {
  char32_t character = 0;
  std::size_t bytes = 0;
};

/// Decodes the first character. Returns nothing if the text is empty or does not begin with valid
/// UTF-8 (truncated, overlong, surrogate).
std::optional<Utf8Character> decode_utf8(std::string_view text);

bool is_utf8(std::string_view text);

void append_utf8(char32_t character, std::string& text);

}  // namespace troika
