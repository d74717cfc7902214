// The split of one operator in plan.json, as JSON text. The readers take text that is known to be
// JSON and throw Error(file) with a sentence.
#pragma once

#include <string>
#include <string_view>

#include "strategy/split.h"

namespace troika::plan_json {

/// {"factors": [{"n": 4, "stride": 8}, {"o": 8}], "first": 0}, or with "devices" in place of
/// strides and "first", on one line. Values that equal their default are left out.
std::string split_text(const Split& split);
Split read_split(std::string_view json, const std::string& op);

/// As "troika plan 1" wrote it: {"degrees": {"n": 2}, "replicas": 1, "weights": {"n": [1, 3]},
/// "devices": [0, 1]}.
Split read_listed_split(std::string_view json, const std::string& op);

}  // namespace troika::plan_json
