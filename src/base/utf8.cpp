#include "base/utf8.h"

namespace troika {
namespace {

/// Returns the length of a character by its first byte; 0 if no character begins with it.
/// C0 and C1 would begin overlong forms, F5 and above code points beyond U+10FFFF.
std::size_t length_of(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return 2;
  if (first >= 0xE0 && first < 0xF0) return 3;
  if (first >= 0xF0 && first < 0xF5) return 4;
  return 0;
}

bool valid(char32_t character, std::size_t bytes) {
  // A character in more bytes than needed is overlong, which RFC 3629 forbids.
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  bool surrogate = character >= 0xD800 && character < 0xE000;
  return character >= kSmallest[bytes] && character < kCodePoints && !surrogate;
}

}  // namespace

std::optional<Utf8Character> decode_utf8(std::string_view text) {
  if (text.empty()) return std::nullopt;
  auto first = static_cast<unsigned char>(text[0]);
  std::size_t bytes = length_of(first);
  if (bytes == 1) return Utf8Character{first, 1};
  if (bytes == 0 || bytes > text.size()) return std::nullopt;
  // A first byte has `bytes` ones and a zero; the rest of it are the highest bits.
  char32_t character = first & (0x7FU >> bytes);
  for (char c : text.substr(1, bytes - 1)) {
    auto byte = static_cast<unsigned char>(c);
    // Every later byte is 10xxxxxx and carries six bits.
    if ((byte & 0xC0U) != 0x80) return std::nullopt;
    character = character << 6 | (byte & 0x3FU);
  }
  if (!valid(character, bytes)) return std::nullopt;
  return Utf8Character{character, bytes};
}

bool is_utf8(std::string_view text) {
  while (auto next = decode_utf8(text)) text.remove_prefix(next->bytes);
  return text.empty();
}

void append_utf8(char32_t character, std::string& text) {
  auto tail = [&](int shift) { text += static_cast<char>(0x80U | (character >> shift & 0x3FU)); };
  if (character < 0x80) {
    text += static_cast<char>(character);
  } else if (character < 0x800) {
    text += static_cast<char>(0xC0U | character >> 6);
    tail(0);
  } else if (character < 0x10000) {
    text += static_cast<char>(0xE0U | character >> 12);
    tail(6), tail(0);
  } else {
    text += static_cast<char>(0xF0U | character >> 18);
    tail(12), tail(6), tail(0);
  }
}

}  // namespace troika
