// For tests: whether two plans of one program are the same, by what they say and not by the numbers
// that their tables have given to it.
#pragma once

#include <string>

#include "lower/planner.h"

namespace troika {

/// The first thing that differs, or nothing. Each plan may have its own tables.
std::string first_difference(const ProgramPlan& one, const ProgramPlan& other);

/// The first job, value or update that a change did not list and that differs. Both plans have the
/// same tables.
std::string first_untold(const ProgramPlan& before, const ProgramPlan& after,
                         const Touched& touched);

/// Which kept fragment is not what would be emitted for the plan as it is now; empty if all are.
std::string first_stale_fragment(Planner& planner);

}  // namespace troika
