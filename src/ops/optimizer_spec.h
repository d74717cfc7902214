// The optimizer: one update rule per trained parameter, and what the guard checks.
#pragma once

#include <map>
#include <string>

#include "ops/op.h"

namespace troika {

struct OptimizerSpec {
  std::map<std::string, Op>
      rules;  ///< By parameter name; a parameter without a rule stays as it is.
  /// The finite flag covers the gradient too, so that updates wait for the whole gradient.
  bool guard_gradient = false;
  double clip_norm = 0;  ///< Implies guard_gradient. 0 is off.

  bool watches_gradient() const { return guard_gradient || clip_norm > 0; }
};

}  // namespace troika
