// Lowering by way of a plan: everything that does not differ between devices is decided once, then
// the tasks of each device follow.
#pragma once

#include "lower/lower.h"

namespace troika {

[[nodiscard]] LowerResult lower_planned(const LowerRequest& request, const KernelTable& table);

/// The rows of all kinds of tiles, and of the chains that might be fused.
std::vector<KernelRequest> rows_of_plan(const LowerRequest& request);

}  // namespace troika
