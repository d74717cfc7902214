// Lowers a program with whatever kernels the backend offers: the two steps of the kernel table,
// rows needed and rows answered, until nothing is missing.
#pragma once

#include <functional>

#include "cost/kernel_table.h"
#include "lower/lower.h"

namespace troika {

/// What there is for each of some keys.
using KernelAnswer =
    std::function<std::vector<std::vector<Candidate>>(const std::vector<KernelKey>&)>;

/// New rows are added to the table. Throws Error(usage) with the reason when the strategy is
/// infeasible.
TaskGraph compile_program(const LowerRequest& request, const KernelAnswer& answer,
                          KernelTable& table);

}  // namespace troika
