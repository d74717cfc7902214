// What moves the weights: one update rule per trained parameter, and what the guard looks at.
#pragma once

#include <map>
#include <string>

#include "ops/op.h"

namespace troika {

struct OptimizerSpec {
  std::map<std::string, Op> rules;  ///< By parameter name; a parameter without a rule is not moved.
  bool guard_gradient =
      false;  ///< The finite flag looks at the gradient too, so updates wait for all of it.
  double clip_norm = 0;  ///< Implies guard_gradient. 0 is off.

  bool watches_gradient() const { return guard_gradient || clip_norm > 0; }
};

}  // namespace troika
