// The classes of a plan and why each differs from the one before, to explain a plan. Needs no
// kernels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lower/lower.h"

namespace troika {

/// Devices that do the same.
struct ExplainedClass {
  std::vector<std::int32_t> devices;  ///< In ascending order.
  /// Of each of its devices, as long as no kernels are chosen: nothing is fused or reordered.
  std::int64_t tasks = 0;
  /// How its first device differs from that of the class before it: a short sentence without a
  /// subject, such as "has no tile of fc8". Empty for the first class.
  std::string difference{};

  bool operator==(const ExplainedClass&) const = default;
};

/// Of a feasible program, in the order of their first devices.
std::vector<ExplainedClass> explain_classes(const LowerRequest& request);

}  // namespace troika
