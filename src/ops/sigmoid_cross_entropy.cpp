#include "ops/sigmoid_cross_entropy.h"

#include "ops/sample_loss.h"

namespace troika {

Signature signature(const SigmoidCrossEntropy&, std::span<const TensorSpec> inputs) {
  return sample_loss_signature("sigmoid_cross_entropy", inputs, 10);
}

}  // namespace troika
