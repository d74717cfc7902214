// JSON text as Troika's files hold it: strict checks for files that may be damaged or hostile, and
// error messages in place of the JSON library's.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace troika {

/// Returns why `text` is not exactly one JSON object, or nothing if it is. Stricter than the
/// library: it also refuses a key that occurs twice in one object, more than `max_depth` nested
/// levels, more than 65536 keys in one object, invalid UTF-8, NUL bytes, and anything but white
/// space after the object. Takes little memory whatever the text.
std::optional<std::string> json_fault(std::string_view text, std::size_t max_depth);

/// The same for a file that people may have edited: white space and a byte order mark may precede
/// the object, and the reason tells an empty and a truncated file from a wrong one.
std::optional<std::string> json_file_fault(std::string_view text, std::size_t max_depth);

/// The line, from 1, of a value of a text that is valid JSON. Values are numbered in the order of
/// the text: the outermost is 0, the first one inside it is 1.
std::size_t json_line(std::string_view text, std::size_t value);

/// Returns `text` as a quoted JSON string. Throws Error(usage) if it is not UTF-8.
std::string json_quoted(std::string_view text);

/// Turns what() of an nlohmann::json exception into the end of an error message about a file: "it
/// is not JSON at line 3, column 7", "it has no 'splits'".
std::string json_reason(std::string_view library_text);

}  // namespace troika
