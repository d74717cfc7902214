#include "ops/sgd.h"

#include "ops/require.h"
#include "ops/update_rule.h"

namespace troika {

Signature signature(const Sgd& op, std::span<const TensorSpec> inputs) {
  require_inputs("sgd", inputs, 1);
  std::vector<std::string> states;
  // Without momentum the rule keeps no state, which saves memory of the size of the parameter.
  if (op.momentum != 0) states.push_back("momentum");
  return update_signature(inputs[0], states, 6);
}

}  // namespace troika
