// Everything about a program that does not differ between devices, decided in one go.
#pragma once

#include "lower/program_plan.h"

namespace troika {

/// Fills in updates, kernels, moments and buckets of a plan whose distribution is known. False if
/// the table lacks a row; the plan is not complete then.
[[nodiscard]] bool decide(ProgramPlan& plan, PlanTables& tables, const KernelTable& table);

}  // namespace troika
