#include "ops/mean_error.h"

#include "ops/sample_loss.h"

namespace troika {

std::span<const std::string_view> enum_names(Penalty) {
  static constexpr std::array<std::string_view, 2> kNames{"squared", "absolute"};
  return kNames;
}

Signature signature(const MeanError&, std::span<const TensorSpec> inputs) {
  return sample_loss_signature("mean_error", inputs, 3);
}

}  // namespace troika
