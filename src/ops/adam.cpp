#include "ops/adam.h"

#include "ops/require.h"
#include "ops/update_rule.h"

namespace troika {

Signature signature(const Adam&, std::span<const TensorSpec> inputs) {
  require_inputs("adam", inputs, 1);
  // Per element without decay: 1 to scale g, 3 for m, 4 for v and 6 for w.
  constexpr std::int64_t kFlops = 14;
  std::vector<std::string> states{"first_moment", "second_moment"};
  return update_signature(inputs[0], states, kFlops);
}

}  // namespace troika
