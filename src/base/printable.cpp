#include "base/printable.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>

namespace troika {
namespace {

struct DecodedCharacter {
  std::uint32_t code;
  std::size_t bytes;
};

/// The first character of a text that is not empty; nothing where it is not UTF-8 (RFC 3629).
std::optional<DecodedCharacter> first_character(std::string_view text) {
  auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(text[at]); };
  if (byte(0) < 0x80) return DecodedCharacter{byte(0), 1};
  std::size_t bytes = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < bytes) return std::nullopt;
  std::uint32_t code = byte(0) & (0xffu >> (bytes + 1));
  for (std::size_t at = 1; at < bytes; ++at) {
    if ((byte(at) & 0xc0) != 0x80) return std::nullopt;
    code = code << 6 | (byte(at) & 0x3f);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kLeast[bytes] || code > 0x10ffff || is_surrogate) return std::nullopt;
  return DecodedCharacter{code, bytes};
}

/// C0 and C1 control characters and DEL; marks, embeddings, overrides and isolates of direction;
/// separators of lines and paragraphs.
bool is_obeyed(std::uint32_t code) {
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
    std::optional<DecodedCharacter> next = first_character(text);
    std::size_t bytes = next ? next->bytes : 1;
    bool is_kept = lines == Lines::many && (text[0] == '\n' || text[0] == '\t');
    if (!next)
      safe += fmt::format("\\x{:02x}", static_cast<std::uint8_t>(text[0]));
    else if (is_obeyed(next->code) && !is_kept)
      safe += fmt::format("\\u{:04x}", next->code);
    else
      safe += text.substr(0, bytes);
    text.remove_prefix(bytes);
  }
  return safe;
}

}  // namespace troika
