// The split of one operator in plan.json. The readers take a value of the JSON library, which stays
// out of headers, and are instantiated for the type that strategy_json.cpp reads. They throw
// json_values::BadValue.
#pragma once

#include <string>

#include "strategy/split.h"

namespace troika::plan_json {

/// {"factors": [{"n": 4, "stride": 8}, {"o": 8}], "first": 0}, or with "devices" in place of
/// strides and "first", on one line. Values that equal their default are left out.
std::string split_text(const Split& split);
template <class Json>
Split read_split(const Json& json, const std::string& op);

/// As "troika plan 1" wrote it: {"degrees": {"n": 2}, "replicas": 1, "weights": {"n": [1, 3]},
/// "devices": [0, 1]}.
template <class Json>
Split read_listed_split(const Json& json, const std::string& op);

}  // namespace troika::plan_json
