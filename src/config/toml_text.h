// Plain values as TOML text that reads back to the same value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/document.h"

namespace troika::config {

/// Removes spaces at both ends.
std::string_view trim(std::string_view text);
/// "text", with quotes, backslashes and control characters escaped.
std::string toml_text(std::string_view text);
inline std::string toml_text(const std::string& text) { return toml_text(std::string_view(text)); }
std::string toml_text(std::int64_t number);
/// Always with a point or an exponent, so that it stays a float.
std::string toml_text(double number);
std::string toml_text(bool flag);
/// Each one quoted.
std::vector<std::string> toml_texts(const std::vector<std::string>& texts);
/// [a, b]
std::string toml_list(const std::vector<std::string>& elements);
/// A bare key where TOML allows one, else a quoted one.
std::string toml_key(std::string_view key);

/// A value as an error message shows it: cut short, strings quoted, arrays and tables by kind.
std::string describe(const Value& value);
/// Text from outside without its control characters.
std::string on_one_line(std::string_view text);
/// The same, cut short, for use inside a message.
std::string printable(std::string_view text);

}  // namespace troika::config
