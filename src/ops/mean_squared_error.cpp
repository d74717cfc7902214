#include "ops/mean_squared_error.h"

#include "ops/sample_loss.h"

namespace troika {

Signature signature(const MeanSquaredError&, std::span<const TensorSpec> inputs) {
  return sample_loss_signature("mean_squared_error", inputs, 3);
}

}  // namespace troika
