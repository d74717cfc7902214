// Values of a plan file, read with sentences about what is wrong. All functions throw Error(file).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace troika::plan_json {

using Json = nlohmann::ordered_json;

/// Names each key of `json` that is not in `known`.
void require_known(const Json& json, const std::string& where,
                   const std::vector<std::string>& known);

/// For `kind` object or array. `what` is the thing in the sentence.
void require_kind(const Json& json, Json::value_t kind, const std::string& what);

/// Whole numbers only: 2.5 is not read as 2.
std::int64_t read_integer(const Json& json, const std::string& what);

/// The value of a key, or the default if it is missing.
std::int64_t read_integer(const Json& json, const std::string& key, std::int64_t usual);
bool read_switch(const Json& json, const std::string& key, bool usual);
std::string read_text(const Json& json, const std::string& key, const std::string& usual);

std::vector<double> read_numbers(const Json& json, const std::string& what);
std::vector<std::string> read_texts(const Json& json, const std::string& what);

/// JSON on one line, with spaces: {"n": 4, "weights": [1, 3]}.
std::string on_one_line(const Json& json);

}  // namespace troika::plan_json
