// Kernels for the same bits on any number of devices: those that one device would run.
#pragma once

#include <map>
#include <string>
#include <variant>

#include "lower/lower.h"

namespace troika {

/// Kernels that are decided already, by the name of their task.
using GivenChoices = std::map<std::string, KernelChoice>;

/// What lowering chooses when all tiles are on one device. The search weighs kernels against the
/// reorders around them, which differ with the number of devices; and another kernel, or a sum over
/// another layout, has other bits. Sums, copies and reorders of whole values are left out: their
/// bits depend on no layout.
std::variant<GivenChoices, MissingRows> choices_on_one_device(const LowerRequest& request,
                                                              const KernelTable& table);

}  // namespace troika
