// Why a JSON document cannot be read, in plain words instead of the library's.
#pragma once

#include <string>
#include <string_view>

namespace troika {

/// The end of a sentence about a file: "it is not JSON at line 3, column 7", "it has no 'splits'".
/// `library_text` is what() of an exception of nlohmann::json.
std::string json_reason(std::string_view library_text);

}  // namespace troika
