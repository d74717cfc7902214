#include "ops/running_average.h"

#include "ops/require.h"
#include "ops/update_rule.h"

namespace troika {

Signature signature(const RunningAverage& op, std::span<const TensorSpec> inputs) {
  require_inputs("running_average", inputs, 1);
  require(op.shards > 0, "running_average", "needs shards > 0");
  return update_signature(inputs[0], {}, 4);
}

}  // namespace troika
