#include <cmath>

#include "kernels/cpu/offers.h"
#include "kernels/cpu/sample_loss.h"

namespace troika {

Offers offers(const MeanError& op, const Request& request) {
  if (op.penalty == Penalty::absolute)
    return sample_loss_offers(
        request, [](float x, float target) { return std::abs(x - target); },
        [](float x, float target) { return static_cast<float>((x > target) - (x < target)); });
  return sample_loss_offers(
      request, [](float x, float target) { return (x - target) * (x - target); },
      [](float x, float target) { return 2 * (x - target); });
}

}  // namespace troika
