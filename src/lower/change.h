// Planning again after some operators have got other splits: only what depends on them is decided
// again, and the plan is the one that would be made from scratch (docs/design.md, Locality).
//
// The order of a change: why_change_infeasible, the strategy's new splits, change_splits, the units
// of what is touched, settle.
#pragma once

#include <span>

#include "lower/program_plan.h"

namespace troika {

/// The numbers 0, 1, ... of so many jobs, values or updates: all of them.
std::vector<std::int32_t> first_numbers(std::size_t count);

/// Brings distribution and updates up to date after `*plan.request.strategy` has got other splits
/// for these operators. Returns what is touched; units are still the old ones. A change back to the
/// former splits undoes it.
Touched change_splits(ProgramPlan& plan, PlanTables& tables,
                      std::span<const std::int32_t> operators);

/// Brings everything up to date that follows from units: where jobs run, how values lie, moments
/// and buckets. `decided`: the jobs whose units were decided again; with one of a fused unit, all
/// of it. The caller has added to `touched` the jobs and updates whose units differ, and the values
/// of parameters that are stored in other layouts. Adds what else is concerned.
void settle(ProgramPlan& plan, Touched& touched, std::span<const std::int32_t> decided);

/// The same for a plan whose units have just been decided for the first time.
void settle(ProgramPlan& plan);

}  // namespace troika
