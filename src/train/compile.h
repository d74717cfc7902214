// Lowers a program with whatever kernels the backend offers: the two steps of the kernel table,
// rows needed and rows answered, until nothing is missing.
#pragma once

#include "cost/kernel_table.h"
#include "kernels/kernel.h"
#include "lower/lower.h"

namespace troika {

/// New rows are added to the table. Throws Error(usage) with the reason when the strategy is
/// infeasible.
TaskGraph compile_program(const LowerRequest& request, const Backend& backend, KernelTable& table);

}  // namespace troika
