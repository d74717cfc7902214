// JSON from files that may be damaged or hostile: what the parser would let pass, this refuses.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace troika {

/// Why `text` is not one JSON object, or nothing when it is. Also refused: a key that occurs twice
/// in one object, more than `max_depth` nested levels, bytes that are not UTF-8, a NUL byte, and
/// anything but white space after the object.
std::optional<std::string> json_fault(std::string_view text, std::size_t max_depth);

/// `text` as a JSON string with its quotes; throws Error(usage) when it is not UTF-8.
std::string json_quoted(std::string_view text);

}  // namespace troika
