#include "kernels/cpu/convolution.h"
#include "kernels/cpu/offers.h"

namespace troika {

std::optional<Convolution> convolution_of(const Conv2d& op, const Request& request) {
  std::optional<Tail> tail = tail_of(request.key, 1);
  if (!tail || tail->residual) return std::nullopt;
  Convolution convolution{.image = request.signature.slots[0].spec,
                          .weight = request.signature.slots[1].spec,
                          .output = request.signature.slots[2].spec,
                          .stride = op.stride,
                          .dilation = op.dilation,
                          .pad = op.pad,
                          .groups = op.groups,
                          .output_at = tail->bias ? 3u : 2u,
                          .tail = *tail};
  // Operands: backward_data dy, weight, dx; backward_weight x, dy, dweight.
  if (request.key.phase == Phase::backward_data) {
    convolution.result = Convolution::Result::image;
    convolution.output_at = 0, convolution.weight_at = 1, convolution.image_at = 2;
  } else if (request.key.phase == Phase::backward_weight) {
    convolution.result = Convolution::Result::weight;
    convolution.image_at = 0, convolution.output_at = 1, convolution.weight_at = 2;
  }
  return convolution;
}

Offers offers(const Conv2d& op, const Request& request) {
  std::optional<Convolution> convolution = convolution_of(op, request);
  return convolution ? convolution_offers(*convolution, request) : Offers{};
}

}  // namespace troika
