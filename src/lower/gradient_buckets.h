// Which gradients travel as one message.
#pragma once

#include "lower/program_plan.h"

namespace troika {

/// Joins sums of gradients over the same devices in groups of parameters: those that the strategy
/// lists, and for the others fixed groups by its size of a bucket. Needs the moments of the
/// updates.
void plan_buckets(ProgramPlan& plan);

}  // namespace troika
