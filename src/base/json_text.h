// JSON text as Troika's files hold it: strict checks for files that may be damaged or hostile, and
// error messages in place of the JSON library's.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace troika {

/// Returns why `text` is not exactly one JSON object, or nothing if it is. Stricter than the
/// library: it also refuses a key that occurs twice in one object, more than `max_depth` nested
/// levels, invalid UTF-8, NUL bytes, and anything but white space after the object.
std::optional<std::string> json_fault(std::string_view text, std::size_t max_depth);

/// Returns `text` as a quoted JSON string. Throws Error(usage) if it is not UTF-8.
std::string json_quoted(std::string_view text);

/// Turns what() of an nlohmann::json exception into the end of an error message about a file: "it
/// is not JSON at line 3, column 7", "it has no 'splits'".
std::string json_reason(std::string_view library_text);

}  // namespace troika
