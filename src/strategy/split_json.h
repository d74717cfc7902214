// The split of one operator in plan.json. All readers throw Error(file) with a sentence.
#pragma once

#include "strategy/json_values.h"
#include "strategy/split.h"

namespace troika::plan_json {

/// {"factors": [{"n": 4, "stride": 8}, {"o": 8}], "first": 0}, or with "devices" in place of
/// strides and "first". Values that equal their default are left out.
Json split_json(const Split& split);
Split read_split(const Json& json, const std::string& op);

/// As "troika plan 1" wrote it: {"degrees": {"n": 2}, "replicas": 1, "weights": {"n": [1, 3]},
/// "devices": [0, 1]}.
Split read_listed_split(const Json& json, const std::string& op);

}  // namespace troika::plan_json
