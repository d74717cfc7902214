#include "checkpoint/strict_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/error.h"

namespace troika {

namespace {

using Json = nlohmann::json;

/// Follows the parser without building anything; false from any event stops it.
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
    if (keys_.back().insert(name).second) return true;
    return stop(fmt::format("it names '{}' twice", name));
  }

  bool parse_error(std::size_t position, const std::string&, const Json::exception&) override {
    return stop(fmt::format("it is not JSON at byte {}", position));
  }

 private:
  bool enter() {
    keys_.emplace_back();
    return keys_.size() <= max_depth_ ||
           stop(fmt::format("it nests deeper than {} levels", max_depth_));
  }
  bool leave() { return keys_.pop_back(), true; }
  bool stop(std::string fault) { return fault_ = std::move(fault), false; }

  const std::size_t max_depth_;
  std::vector<std::set<std::string>> keys_;  // One set per open object or array.
  std::string fault_;
};

}  // namespace

std::optional<std::string> json_fault(std::string_view text, std::size_t max_depth) {
  if (text.empty() || text.front() != '{') return "it does not begin with '{'";
  // The parser takes a NUL for the end of its input and would not look at what follows.
  if (const std::size_t at = text.find('\0'); at != text.npos)
    return fmt::format("it has a NUL at byte {}", at);
  StrictReader reader(max_depth);
  if (Json::sax_parse(text, &reader)) return std::nullopt;
  return reader.fault();
}

std::string json_quoted(std::string_view text) {
  try {
    return Json(text).dump();
  } catch (const Json::exception&) {
    throw Error(ErrorKind::usage, "a name to be stored is not UTF-8; rename it with plain letters");
  }
}

}  // namespace troika
