#include "ops/lamb.h"

#include "ops/require.h"
#include "ops/update_rule.h"

namespace troika {

Signature signature(const Lamb&, std::span<const TensorSpec> inputs) {
  require_inputs("lamb", inputs, 1);
  std::vector<std::string> states{"first_moment", "second_moment"};
  return normed_update_signature(update_signature(inputs[0], states, 34));
}

}  // namespace troika
