#include "base/json_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/error.h"

namespace troika {
namespace {

using Json = nlohmann::json;

/// Checks the events of the parser without building a document. A handler that returns false stops
/// the parser.
class StrictReader final : public nlohmann::json_sax<Json> {
 public:
  explicit StrictReader(std::size_t max_depth) : max_depth_(max_depth) {}

  const std::string& fault() const { return fault_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return enter(); }
  bool start_array(std::size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }

  bool key(string_t& name) override {
    // Parsers differ in which of two values they keep, so a file with both has no single meaning.
    if (keys_.back().insert(name).second) return true;
    return stop(fmt::format("it names '{}' twice", name));
  }

  bool parse_error(std::size_t position, const std::string&, const Json::exception&) override {
    return stop(fmt::format("it is not JSON at byte {}", position));
  }

 private:
  bool enter() {
    keys_.emplace_back();
    // The number of open sets is the depth.
    return keys_.size() <= max_depth_ ||
           stop(fmt::format("it nests deeper than {} levels", max_depth_));
  }
  bool leave() { return keys_.pop_back(), true; }
  bool stop(std::string fault) { return fault_ = std::move(fault), false; }

  const std::size_t max_depth_;
  std::vector<std::set<std::string>> keys_;  // One set per open object or array.
  std::string fault_;
};

/// Returns the text between `before` and `after`, or nothing if either is missing.
std::string_view between(std::string_view text, std::string_view before, std::string_view after) {
  std::size_t begin = text.find(before);
  if (begin == text.npos) return {};
  begin += before.size();
  std::size_t end = text.find(after, begin);
  return end == text.npos ? std::string_view{} : text.substr(begin, end - begin);
}

}  // namespace

std::optional<std::string> json_fault(std::string_view text, std::size_t max_depth) {
  if (text.empty() || text.front() != '{') return "it does not begin with '{'";
  // The parser treats NUL as the end of input and would ignore everything behind it.
  if (const std::size_t at = text.find('\0'); at != text.npos)
    return fmt::format("it has a NUL at byte {}", at);
  StrictReader reader(max_depth);
  if (Json::sax_parse(text, &reader)) return std::nullopt;
  return reader.fault();
}

std::string json_quoted(std::string_view text) {
  try {
    // dump() throws for text that is not UTF-8.
    return Json(text).dump();
  } catch (const Json::exception&) {
    throw Error(ErrorKind::usage, "a name to be stored is not UTF-8; rename it with plain letters");
  }
}

std::string json_reason(std::string_view library_text) {
  // "[json.exception.parse_error.101] parse error at line 3, column 7: syntax error while …"
  std::string_view position = between(library_text, "parse error at ", ":");
  if (!position.empty()) return "it is not JSON at " + std::string(position);
  // "[json.exception.out_of_range.403] key 'splits' not found"
  std::string_view key = between(library_text, "] key '", "' not found");
  if (!key.empty()) return "it has no '" + std::string(key) + "'";
  return "one of its values is of another type than expected";
}

}  // namespace troika
