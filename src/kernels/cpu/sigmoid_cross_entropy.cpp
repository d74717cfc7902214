#include "kernels/cpu/offers.h"
#include "kernels/cpu/sample_loss.h"
#include "kernels/cpu/vector_math.h"

namespace troika {

Offers offers(const SigmoidCrossEntropy&, const Request& request) {
  return sample_loss_offers(
      request,
      [](float x, float target) {
        float magnitude = x < 0 ? -x : x;
        return (x > 0 ? x : 0.0f) - x * target + vector_log(1 + vector_exp(-magnitude));
      },
      [](float x, float target) { return vector_sigmoid(x) - target; });
}

}  // namespace troika
