// Lists the updates that run during the next step, to explain a plan. Needs no kernels.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lower/lower.h"

namespace troika {

struct CarriedUpdate {
  std::string parameter;
  std::optional<std::string_view> why_not{};  ///< Unset: it is carried.
};

/// One per updated parameter of a feasible training program, in the order of the graph.
std::vector<CarriedUpdate> carried_updates(const LowerRequest& request);

}  // namespace troika
