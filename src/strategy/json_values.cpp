#include "strategy/json_values.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/suggest.h"

namespace troika::plan_json {
namespace {

Error unfit(const Json& json, const std::string& what, const char* needed) {
  return Error(ErrorKind::file,
               fmt::format("the plan has {} for {}; {} is needed", json.dump(), what, needed));
}

}  // namespace

void require_known(const Json& json, const std::string& where,
                   const std::vector<std::string>& known) {
  if (!json.is_object())
    throw Error(ErrorKind::file,
                fmt::format("the plan cannot be read: {} is not an object", where));
  std::string unknown;
  for (const auto& [key, value] : json.items()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    auto near = closest(key, known);
    unknown += fmt::format("{}'{}'{}", unknown.empty() ? "" : ", ", key,
                           near ? fmt::format(" (did you mean '{}'?)", *near) : "");
  }
  if (!unknown.empty())
    throw Error(ErrorKind::file, fmt::format("the plan has unknown keys in {}: {}; known are {}",
                                             where, unknown, fmt::join(known, ", ")));
}

void require_kind(const Json& json, Json::value_t kind, const std::string& what) {
  if (json.type() == kind) return;
  throw unfit(json, what, kind == Json::value_t::object ? "an object" : "a list");
}

std::int64_t read_integer(const Json& json, const std::string& what) {
  if (!json.is_number_integer()) throw unfit(json, what, "an integer");
  return json.get<std::int64_t>();
}

std::int64_t read_integer(const Json& json, const std::string& key, std::int64_t usual) {
  return json.contains(key) ? read_integer(json[key], fmt::format("'{}'", key)) : usual;
}

bool read_switch(const Json& json, const std::string& key, bool usual) {
  if (!json.contains(key)) return usual;
  if (!json[key].is_boolean()) throw unfit(json[key], fmt::format("'{}'", key), "true or false");
  return json[key].get<bool>();
}

std::string read_text(const Json& json, const std::string& key, const std::string& usual) {
  if (!json.contains(key)) return usual;
  if (!json[key].is_string()) throw unfit(json[key], fmt::format("'{}'", key), "a text");
  return json[key].get<std::string>();
}

std::vector<double> read_numbers(const Json& json, const std::string& what) {
  require_kind(json, Json::value_t::array, what);
  std::vector<double> numbers;
  for (const Json& number : json) {
    if (!number.is_number())
      throw Error(ErrorKind::file,
                  fmt::format("the plan has {} among {}; numbers are needed", number.dump(), what));
    numbers.push_back(number.get<double>());
  }
  return numbers;
}

std::vector<std::string> read_texts(const Json& json, const std::string& what) {
  require_kind(json, Json::value_t::array, what);
  std::vector<std::string> texts;
  for (const Json& text : json) {
    if (!text.is_string())
      throw Error(ErrorKind::file,
                  fmt::format("the plan has {} among {}; texts are needed", text.dump(), what));
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

std::string on_one_line(const Json& json) {
  if (!json.is_structured()) return json.dump();
  std::vector<std::string> parts;
  for (const auto& [key, value] : json.items())
    parts.push_back((json.is_object() ? Json(key).dump() + ": " : "") + on_one_line(value));
  std::string inner = fmt::format("{}", fmt::join(parts, ", "));
  return json.is_object() ? "{" + inner + "}" : "[" + inner + "]";
}

}  // namespace troika::plan_json
