#include "base/json_reason.h"

namespace troika {
namespace {

/// The text between two others; empty where they do not occur.
std::string_view between(std::string_view text, std::string_view before, std::string_view after) {
  std::size_t begin = text.find(before);
  if (begin == text.npos) return {};
  begin += before.size();
  std::size_t end = text.find(after, begin);
  return end == text.npos ? std::string_view{} : text.substr(begin, end - begin);
}

}  // namespace

std::string json_reason(std::string_view library_text) {
  // "[json.exception.parse_error.101] parse error at line 3, column 7: syntax error while …"
  std::string_view place = between(library_text, "parse error at ", ":");
  if (!place.empty()) return "it is not JSON at " + std::string(place);
  // "[json.exception.out_of_range.403] key 'splits' not found"
  std::string_view key = between(library_text, "] key '", "' not found");
  if (!key.empty()) return "it has no '" + std::string(key) + "'";
  return "one of its values is of another type than expected";
}

}  // namespace troika
