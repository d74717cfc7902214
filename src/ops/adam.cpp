#include "ops/adam.h"

#include "ops/require.h"
#include "ops/update_rule.h"

namespace troika {

Signature signature(const Adam&, std::span<const TensorSpec> inputs) {
  require_inputs("adam", inputs, 1);
  constexpr std::int64_t kFlops = 14;
  std::vector<std::string> states{"first_moment", "second_moment"};
  return update_signature(inputs[0], states, kFlops);
}

}  // namespace troika
