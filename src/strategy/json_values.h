// Values of a plan file, read with sentences about what is wrong. All functions throw Error(file).
// Templates over the JSON library's value, which stays out of headers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json_text.h"

namespace troika::plan_json {

[[noreturn]] void refuse(const std::string& sentence);
/// "the plan has VALUE for WHAT; NEEDED is needed"
[[noreturn]] void refuse_value(const std::string& value, const std::string& what,
                               const std::string& needed);
/// Names each key that is not in `known`.
void require_known_keys(const std::vector<std::string>& keys, const std::string& where,
                        const std::vector<std::string>& known);

template <class Json>
void require_known(const Json& json, const std::string& where,
                   const std::vector<std::string>& known) {
  if (!json.is_object()) refuse("the plan cannot be read: " + where + " is not an object");
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  require_known_keys(keys, where, known);
}

template <class Json>
const Json& require_object(const Json& json, const std::string& what) {
  if (!json.is_object()) refuse_value(json.dump(), what, "an object");
  return json;
}

template <class Json>
const Json& require_list(const Json& json, const std::string& what) {
  if (!json.is_array()) refuse_value(json.dump(), what, "a list");
  return json;
}

/// Whole numbers only: 2.5 is not read as 2.
template <class Json>
std::int64_t read_integer(const Json& json, const std::string& what) {
  if (!json.is_number_integer()) refuse_value(json.dump(), what, "an integer");
  return json.template get<std::int64_t>();
}

/// The value of a key, or the default if it is missing.
template <class Json>
std::int64_t read_integer(const Json& json, const std::string& key, std::int64_t usual) {
  return json.contains(key) ? read_integer(json[key], "'" + key + "'") : usual;
}

template <class Json>
bool read_switch(const Json& json, const std::string& key, bool usual) {
  if (!json.contains(key)) return usual;
  if (!json[key].is_boolean()) refuse_value(json[key].dump(), "'" + key + "'", "true or false");
  return json[key].template get<bool>();
}

template <class Json>
std::string read_text(const Json& json, const std::string& key, const std::string& usual) {
  if (!json.contains(key)) return usual;
  if (!json[key].is_string()) refuse_value(json[key].dump(), "'" + key + "'", "a text");
  return json[key].template get<std::string>();
}

template <class Json>
std::vector<double> read_numbers(const Json& json, const std::string& what) {
  std::vector<double> numbers;
  for (const Json& number : require_list(json, what)) {
    if (!number.is_number())
      refuse("the plan has " + number.dump() + " among " + what + "; numbers are needed");
    numbers.push_back(number.template get<double>());
  }
  return numbers;
}

template <class Json>
std::vector<std::string> read_texts(const Json& json, const std::string& what) {
  std::vector<std::string> texts;
  for (const Json& text : require_list(json, what)) {
    if (!text.is_string())
      refuse("the plan has " + text.dump() + " among " + what + "; texts are needed");
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

}  // namespace troika::plan_json
