// Values of a JSON file, read so that everything that is wrong becomes an Error(file) with a
// sentence and the line of the value. Templates over the JSON library's value, which stays out of
// headers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json_text.h"

namespace troika::json_values {

/// What is wrong with one value. The message is a sentence without its subject, which read_file
/// adds: "has 2.5 for 'nodes'; an integer of at least 1 is needed".
class BadValue : public Error {
 public:
  BadValue(const void* value, const std::string& predicate)
      : Error(ErrorKind::file, predicate), value_(value) {}

  /// Address of the value in the document; only compared.
  const void* value() const { return value_; }

 private:
  const void* value_;
};

struct FileKind {
  const char* name;       ///< Subject of the sentences: "the plan".
  std::size_t max_depth;  ///< Nested lists and objects.
};

/// Both ends belong to it.
struct Limits {
  std::int64_t min = 0;
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
};

/// Throws Error(file) unless the text is one JSON object (json_file_fault).
void require_json(std::string_view text, const FileKind& kind);
/// Throws "line N: KIND PREDICATE", on one line of bounded length.
[[noreturn]] void refuse_at_line(std::size_t line, const FileKind& kind,
                                 std::string_view predicate);
/// At most about 60 bytes of a value's text.
std::string shortened(std::string text);
std::string describe(const Limits& limits);
/// Names each key of `unknown`, with the nearest of `known`.
std::string unknown_keys_text(const std::vector<std::string>& unknown, const std::string& where,
                              const std::vector<std::string>& known);

template <class Json>
[[noreturn]] void refuse_because(const Json& json, const std::string& predicate) {
  throw BadValue(&json, predicate);
}

/// "has VALUE for WHAT; NEEDED is needed"
template <class Json>
[[noreturn]] void refuse_value(const Json& json, const std::string& what,
                               const std::string& needed) {
  refuse_because(json,
                 "has " + shortened(json.dump()) + " for " + what + "; " + needed + " is needed");
}

/// Counts values in the order of the text up to the one at `value`; false if it is not inside.
template <class Json>
bool count_before(const Json& json, const void* value, std::size_t& count) {
  if (&json == value) return true;
  if (!json.is_structured()) return false;
  for (const Json& inner : json)
    if (++count; count_before(inner, value, count)) return true;
  return false;
}

/// Parses the text and returns `read(document)`.
template <class Json, class Read>
auto read_file(std::string_view text, const FileKind& kind, Read&& read) {
  require_json(text, kind);
  const Json json = Json::parse(text);
  try {
    return read(json);
  } catch (const BadValue& bad) {
    std::size_t number = 0;
    bool is_inside = count_before(json, bad.value(), number);
    refuse_at_line(json_line(text, is_inside ? number : 0), kind, bad.what());
  }
}

template <class Json>
const Json& require_object(const Json& json, const std::string& what) {
  if (!json.is_object()) refuse_value(json, what, "an object");
  return json;
}

template <class Json>
const Json& require_list(const Json& json, const std::string& what) {
  if (!json.is_array()) refuse_value(json, what, "a list");
  return json;
}

/// Refuses anything but an object with these keys.
template <class Json>
void require_known(const Json& json, const std::string& where,
                   const std::vector<std::string>& known) {
  require_object(json, where);
  std::vector<std::string> unknown;
  const Json* first = nullptr;
  for (const auto& [key, value] : json.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    if (first == nullptr) first = &value;
    unknown.push_back(key);
  }
  if (first != nullptr) refuse_because(*first, unknown_keys_text(unknown, where, known));
}

/// The value of a key that must be there.
template <class Json>
const Json& member(const Json& json, const std::string& key, const std::string& where = "") {
  if (!json.contains(key))
    refuse_because(json, "has no '" + key + "'" + (where.empty() ? "" : " in " + where));
  return json[key];
}

/// Whole numbers only: 2.5 is not read as 2, nor 2^64 - 1 as -1.
template <class Json>
std::int64_t read_integer(const Json& json, const std::string& what, const Limits& limits) {
  bool is_wide = json.is_number_unsigned() &&
                 json.template get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max();
  if (!json.is_number_integer() || is_wide) refuse_value(json, what, describe(limits));
  auto number = json.template get<std::int64_t>();
  if (number < limits.min || number > limits.max) refuse_value(json, what, describe(limits));
  return number;
}

/// The value of a key, or the default if it is missing.
template <class Json>
std::int64_t read_integer(const Json& json, const std::string& key, const Limits& limits,
                          std::int64_t usual) {
  return json.contains(key) ? read_integer(json[key], "'" + key + "'", limits) : usual;
}

template <class Json>
bool read_switch(const Json& json, const std::string& key, bool usual) {
  if (!json.contains(key)) return usual;
  if (!json[key].is_boolean()) refuse_value(json[key], "'" + key + "'", "true or false");
  return json[key].template get<bool>();
}

template <class Json>
std::string read_text(const Json& json, const std::string& what) {
  if (!json.is_string()) refuse_value(json, what, "a text");
  return json.template get<std::string>();
}

template <class Json>
std::string read_text(const Json& json, const std::string& key, const std::string& usual) {
  return json.contains(key) ? read_text(json[key], "'" + key + "'") : usual;
}

template <class Json>
std::vector<std::string> read_texts(const Json& json, const std::string& what) {
  std::vector<std::string> texts;
  for (const Json& text : require_list(json, what)) {
    if (!text.is_string())
      refuse_because(text,
                     "has " + shortened(text.dump()) + " among " + what + "; texts are needed");
    texts.push_back(text.template get<std::string>());
  }
  return texts;
}

/// JSON on one line, with spaces: {"n": 4, "weights": [1, 3]}.
template <class Json>
std::string on_one_line(const Json& json) {
  if (!json.is_structured()) return json.dump();
  std::string inner;
  for (const auto& [key, value] : json.items()) {
    if (!inner.empty()) inner += ", ";
    inner += (json.is_object() ? json_quoted(key) + ": " : "") + on_one_line(value);
  }
  return json.is_object() ? "{" + inner + "}" : "[" + inner + "]";
}

}  // namespace troika::json_values
