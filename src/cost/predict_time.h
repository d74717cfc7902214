// The predicted time of a collective: as measured on this machine where it was, else by formula.
#pragma once

#include <optional>
#include <string_view>

#include "cost/link_costs.h"

namespace troika {

struct PredictedTime {
  SimTime time{};
  bool is_measured = false;  ///< Between measured times of this very algorithm.
};

/// No range is longer than a nearly equal part of the vector.
bool has_equal_parts(const CollectiveCall& call);

/// Measured times hold for equal parts that all travel over one kind of link without segments, in
/// whichever order costs nothing extra; the formula is for everything else.
PredictedTime predict_time(const CollectiveCall& call, std::string_view algorithm, Bytes element,
                           const LinkCosts& costs);

/// Only where it was measured.
std::optional<SimTime> measured_time(const CollectiveCall& call, std::string_view algorithm,
                                     Bytes element, const LinkCosts& costs);

}  // namespace troika
