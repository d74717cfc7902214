#include "kernels/cpu/convolution.h"
#include "kernels/cpu/offers.h"

namespace troika {

/// The transpose of a convolution: y is the image that it would read, and x its output.
Offers offers(const ConvTranspose2d& op, const Request& request) {
  using Result = Convolution::Result;
  Convolution convolution{.image = request.signature.slots[2].spec,
                          .weight = request.signature.slots[1].spec,
                          .output = request.signature.slots[0].spec,
                          .stride = op.stride,
                          .pad = op.pad,
                          .result = Result::image,
                          .image_at = 2,
                          .output_at = 0};
  if (request.key.phase == Phase::backward_data) {
    convolution.result = Result::output;
    convolution.image_at = 0, convolution.weight_at = 1, convolution.output_at = 2;
  } else if (request.key.phase == Phase::backward_weight) {
    convolution.result = Result::weight;
    convolution.output_at = 0, convolution.image_at = 1, convolution.weight_at = 2;
  }
  return convolution_offers(convolution, request);
}

}  // namespace troika
