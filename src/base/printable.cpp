#include "base/printable.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>

#include "base/utf8.h"

namespace troika {
namespace {

/// C0 and C1 control characters and DEL; marks, embeddings, overrides and isolates of text
/// direction (Unicode Standard Annex 9); line and paragraph separators.
bool is_interpreted(char32_t code) {
  bool is_control = code < 0x20 || (code >= 0x7f && code < 0xa0);
  bool is_direction = code == 0x061c || code == 0x200e || code == 0x200f ||
                      (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  return is_control || is_direction || code == 0x2028 || code == 0x2029;
}

}  // namespace

std::string printable(std::string_view text, Lines lines) {
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    std::optional<Utf8Character> next = decode_utf8(text);
    // After an invalid byte decoding starts again at the next one.
    std::size_t bytes = next ? next->bytes : 1;
    bool is_kept = lines == Lines::many && (text[0] == '\n' || text[0] == '\t');
    if (!next)
      safe += fmt::format("\\x{:02x}", static_cast<std::uint8_t>(text[0]));
    else if (is_interpreted(next->character) && !is_kept)
      safe += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(next->character));
    else
      safe += text.substr(0, bytes);
    text.remove_prefix(bytes);
  }
  return safe;
}

}  // namespace troika
