#include "kernels/cpu/loops.h"
#include "kernels/cpu/offers.h"
#include "kernels/cpu/update_step.h"

namespace troika {

Offers offers(const RunningAverage& op, const Request& request) {
  auto loop_for = [op](std::int64_t count) -> Loop {
    return [=](const Launch& launch) {
      if (!step_of(launch).ok()) return;
      auto share = static_cast<float>(1 / static_cast<double>(op.shards)),
           momentum = static_cast<float>(op.momentum);
      float* running = launch.at(kWeightOperand);
      const float* sum = launch.at(kGradientOperand);
      for_elements(launch.threads, count,
                   [=](std::int64_t i) { running[i] += momentum * (share * sum[i] - running[i]); });
    };
  };
  return {offer_flat(request, {}, loop_for)};
}

}  // namespace troika
