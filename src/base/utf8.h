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

/// The first character of the text; nothing when it is empty or not UTF-8 there (cut short,
/// overlong, surrogate).
std::optional<Utf8Character> decode_utf8(std::string_view text);

/// Whether all of the text is UTF-8.
bool is_utf8(std::string_view text);

void append_utf8(char32_t character, std::string& text);

}  // namespace troika
