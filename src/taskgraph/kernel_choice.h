// The implementation that a task runs: what `lower` picked from the kernel table.
#pragma once

#include <string>
#include <vector>

#include "base/units.h"
#include "tensor/layout.h"

namespace troika {

/// The operand `write` may occupy the memory of the operand `read`, when that value is not needed
/// afterwards.
struct InPlace {
  int write = 0;
  int read = 0;

  bool operator==(const InPlace&) const = default;
};

struct KernelChoice {
  std::string
      algorithm;  ///< "reference", "direct", "winograd", …; empty before the choice is made.
  std::vector<Layout> layouts;  ///< One per operand.
  Bytes scratch{};
  SimTime time{};  ///< Predicted.

  bool operator==(const KernelChoice&) const = default;
};

}  // namespace troika
