#include "ops/lars.h"

#include "ops/require.h"
#include "ops/update_rule.h"

namespace troika {

Signature signature(const Lars&, std::span<const TensorSpec> inputs) {
  require_inputs("lars", inputs, 1);
  std::vector<std::string> states{"momentum"};
  return normed_update_signature(update_signature(inputs[0], states, 12));
}

}  // namespace troika
