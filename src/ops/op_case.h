// One operator with its inputs, to be run on made-up values.
#pragma once

#include <string>
#include <vector>

#include "ops/op.h"

namespace troika {

/// Values that an input is filled with. Integers are drawn below the slot's bound, and lengths from
/// 1 on.
enum class Fill { normal, positive, mask, lengths };

struct OpCase {
  std::string name;
  Op op;
  std::vector<TensorSpec> inputs;
  std::vector<Fill> fills{};  ///< One per input; missing ones follow from the slot.
  /// Where the operator lies if it is a tile; empty means position_of its whole tile.
  std::vector<std::int64_t> position{};
};

}  // namespace troika
