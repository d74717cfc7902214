// Decides whether a request can be planned, and with which kernels.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lower/program_plan.h"

namespace troika {

/// Why a request cannot be planned with any kernels. Nothing if it can.
[[nodiscard]] std::optional<std::string> why_no_plan(const LowerRequest& request);

/// Whether the plan takes the kernels that one device would run, for the same bits on any number of
/// devices.
bool has_units_of_one_device(const ProgramPlan& plan);

/// The units of a plan whose distribution and updates are known. Nothing if the table lacks a row.
std::optional<KernelUnits> decide_units(const ProgramPlan& plan, const KernelTable& table);

/// Returns the rows of rows_needed that the table lacks.
std::vector<KernelRequest> rows_lacking(const LowerRequest& request, const KernelTable& table);

}  // namespace troika
