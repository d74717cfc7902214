#include "kernels/cpu/convolution.h"
#include "kernels/cpu/offers.h"

namespace troika {

/// y is the image that a convolution would read, and x the places where its window stops.
Offers offers(const ConvTranspose2d& op, const Request& request) {
  using Result = Convolution::Result;
  Convolution convolution{.image = request.signature.slots[2].spec,
                          .weight = request.signature.slots[1].spec,
                          .places = request.signature.slots[0].spec,
                          .stride = op.stride,
                          .pad = op.pad,
                          .result = Result::image,
                          .image_at = 2,
                          .places_at = 0};
  if (request.key.phase == Phase::backward_data) {
    convolution.result = Result::places;
    convolution.image_at = 0, convolution.weight_at = 1, convolution.places_at = 2;
  } else if (request.key.phase == Phase::backward_weight) {
    convolution.result = Result::weight;
    convolution.places_at = 0, convolution.image_at = 1, convolution.weight_at = 2;
  }
  return convolution_offers(convolution, request);
}

}  // namespace troika
