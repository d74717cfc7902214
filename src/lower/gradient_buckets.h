// Which gradients travel as one message.
#pragma once

#include <span>

#include "lower/program_plan.h"

namespace troika {

/// Joins sums of gradients over the same devices in groups of parameters: those that the strategy
/// lists, and for the others fixed groups by its size of a bucket. Needs the moments of the
/// updates. Plans the groups again that one of these updates is in, which are listed in ascending
/// order. Returns the updates of the groups whose buckets have changed, in ascending order.
std::vector<std::int32_t> plan_buckets(ProgramPlan& plan, std::span<const std::int32_t> updates);

}  // namespace troika
