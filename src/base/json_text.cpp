#include "base/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/error.h"

namespace troika {
namespace {

using Json = nlohmann::json;

/// The JSON library compares each new key of an ordered object with all before it, which takes
/// seconds for as many as this. No file of ours comes near.
constexpr std::size_t kMostKeys = 65536;

/// ID of the library's exception for a number that no double can hold.
constexpr int kNumberOverflow = 406;

/// "line 3, column 7" of the byte before which `bytes` bytes have been read.
std::string position_text(std::string_view text, std::size_t bytes) {
  std::string_view before = text.substr(0, std::min(bytes, text.size()));
  std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  return fmt::format("line {}, column {}", 1 + std::ranges::count(before, '\n'),
                     before.size() - line_begin + 1);
}

/// An iterator over the text that tells how far the parser has read.
class CountedByte {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountedByte(const char* at, const char** last) : at_(at), last_(last) {}

  reference operator*() const { return *at_; }
  CountedByte& operator++() { return *last_ = ++at_, *this; }
  bool operator==(const CountedByte& other) const { return at_ == other.at_; }
  bool operator!=(const CountedByte& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** last_;
};

/// Checks the events of the parser without building a document. A handler that returns false stops
/// the parser.
class StrictReader final : public nlohmann::json_sax<Json> {
 public:
  StrictReader(std::string_view text, std::size_t max_depth)
      : text_(text), last_(text.data()), max_depth_(max_depth) {}

  std::optional<std::string> find_fault() {
    CountedByte begin(text_.data(), &last_), end(text_.data() + text_.size(), &last_);
    return Json::sax_parse(begin, end, this) ? std::nullopt : std::optional(fault_);
  }

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
    if (!keys_.back().insert(name).second) return stop(fmt::format("it names '{}' twice", name));
    return keys_.back().size() <= kMostKeys ||
           stop(fmt::format("it has more than {} keys in one object", kMostKeys));
  }

  bool parse_error(std::size_t, const std::string&, const Json::exception& error) override {
    if (error.id == kNumberOverflow) return stop("it has a number that is too large");
    // The library has no ID for the end of the text.
    auto mentions = [&](const char* words) { return std::strstr(error.what(), words) != nullptr; };
    bool is_cut = last_ == text_.data() + text_.size() &&
                  (mentions("unexpected end of input") || mentions("missing closing quote"));
    return stop(is_cut ? "it ends too early and may be truncated" : "it is not JSON");
  }

 private:
  bool enter() {
    keys_.emplace_back();
    // The number of open sets is the depth.
    return keys_.size() <= max_depth_ ||
           stop(fmt::format("it nests deeper than {} levels", max_depth_));
  }
  bool leave() { return keys_.pop_back(), true; }
  /// The parser has just read the last byte of what is wrong.
  bool stop(std::string_view fault) {
    auto read = static_cast<std::size_t>(last_ - text_.data());
    fault_ = fmt::format("{} at {}", fault, position_text(text_, read == 0 ? 0 : read - 1));
    return false;
  }

  std::string_view text_;
  const char* last_;
  const std::size_t max_depth_;
  std::vector<std::set<std::string>> keys_;  // One set per open object or array.
  std::string fault_;
};

std::optional<std::string> document_fault(std::string_view text, std::size_t max_depth) {
  // The parser treats NUL as the end of input and would ignore everything behind it.
  if (const std::size_t at = text.find('\0'); at != text.npos)
    return fmt::format("it has a NUL at {}", position_text(text, at));
  return StrictReader(text, max_depth).find_fault();
}

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
/// Of numbers and of true, false and null.
constexpr std::string_view kWordBytes = "+-.0123456789Eaeflnrstu";

/// Where the string, the word or the single byte at `at` ends.
std::size_t token_end(std::string_view text, std::size_t at) {
  if (text[at] != '"')
    return std::max(at + 1, std::min(text.find_first_not_of(kWordBytes, at), text.size()));
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return std::min(at + 1, text.size());
}

/// True for the first token of a value, which a key and punctuation are not.
bool starts_value(std::string_view text, std::size_t at, std::size_t end) {
  if (text[at] != '"')
    return text[at] == '{' || text[at] == '[' || kWordBytes.find(text[at]) != kWordBytes.npos;
  const std::size_t next = text.find_first_not_of(" \t\r\n", end);
  return next == text.npos || text[next] != ':';
}

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
  return document_fault(text, max_depth);
}

std::optional<std::string> json_file_fault(std::string_view text, std::size_t max_depth) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == text.npos) return "it is empty";
  if (text[begin] != '{')
    return fmt::format("it is not a JSON object; it should begin with '{{' at {}",
                       position_text(text, begin));
  return document_fault(text, max_depth);
}

std::size_t json_line(std::string_view text, std::size_t value) {
  std::size_t line = 1;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\n') ++line;
    const std::size_t end = token_end(text, at);
    if (starts_value(text, at, end) && value-- == 0) break;
    at = end;
  }
  return line;
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
