// Bounds the nesting of a TOML text before it is parsed: the parser and the destructors of its
// result are recursive.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace troika::config {

inline constexpr int kDeepestBrackets = 32;
inline constexpr int kMostDots = 16;  ///< In one dotted key.

struct TextPosition {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
};

/// The first place where brackets or dotted keys nest too deeply. Strings and comments are skipped
/// exactly as TOML reads them. After a syntax error the result is meaningless, but the parser stops
/// there anyway.
std::optional<TextPosition> find_deep_nesting(std::string_view text);

}  // namespace troika::config
