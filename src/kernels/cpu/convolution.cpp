#include "kernels/cpu/convolution.h"

#include <algorithm>
#include <iterator>

#include "kernels/cpu/convolution_algorithms.h"

namespace troika {
namespace {

struct Algorithm {
  std::string_view name;
  std::optional<std::string> (*why_not)(const Convolution&, const Request&);
  Offers (*offers)(const Convolution&, const Request&);
};

/// Names appear in the reasons that `troika bench step --why` prints.
constexpr Algorithm kAlgorithms[] = {
    {"direct", why_not_direct, direct_offers},
    {"flipped", why_not_flipped, flipped_offers},
    {"library winograd", why_not_library_winograd, library_winograd_offers},
    {"winograd", why_not_winograd, winograd_offers},
    {"fft", why_not_fft, fft_offers},
};

}  // namespace

Offers convolution_offers(const Convolution& convolution, const Request& request) {
  Offers list;
  for (const Algorithm& algorithm : kAlgorithms) {
    if (algorithm.why_not(convolution, request)) continue;
    std::ranges::move(algorithm.offers(convolution, request), std::back_inserter(list));
  }
  return list;
}

std::vector<DeclinedAlgorithm> declined_algorithms(const Convolution& convolution,
                                                   const Request& request) {
  std::vector<DeclinedAlgorithm> list;
  for (const Algorithm& algorithm : kAlgorithms) {
    if (std::optional<std::string> reason = algorithm.why_not(convolution, request))
      list.push_back({std::string(algorithm.name), std::move(*reason)});
  }
  // Single kernels of a supported algorithm can be declined too.
  std::ranges::move(unsafe_direct_kernels(convolution, request), std::back_inserter(list));
  return list;
}

BlockedImages blocked_images(const TensorSpec& images, std::int64_t lanes) {
  const Shape& shape = images.shape;
  return {shape[1], (shape[1] + lanes - 1) / lanes, shape[2], shape[3], lanes};
}

BlockedWeights blocked_weights(const Convolution& c, std::int64_t lanes, bool output_lanes_last) {
  // In both layouts the blocks lie [output][image]; the lanes inside a block differ. The gradient
  // of the image reads the output's channels and sees each window reversed.
  bool to_output = c.result == Convolution::Result::output;
  std::int64_t block = c.weight.shape[2] * c.weight.shape[3] * lanes * lanes,
               row = blocked_images(c.image, lanes).blocks * block;
  return {.to_stride = to_output ? row : block,
          .from_stride = to_output ? block : row,
          .to_last = to_output == output_lanes_last,
          .flipped = !to_output};
}

Candidate blocked_candidate(const Convolution& c, const Request& request, std::string algorithm,
                            std::int64_t lanes, Layout weight) {
  Candidate candidate{.algorithm = std::move(algorithm),
                      .layouts = std::vector(request.operands.size(), Layout::plain)};
  candidate.layouts[c.image_at] = candidate.layouts[c.output_at] =
      lanes == 16 ? Layout::blocked16 : Layout::blocked8;
  candidate.layouts[c.weight_at] = weight;
  return candidate;
}

Layout output_last_layout(std::int64_t lanes) {
  return lanes == 16 ? Layout::weight_io16 : Layout::weight_io8;
}
Layout image_last_layout(std::int64_t lanes) {
  return lanes == 16 ? Layout::weight_oi16 : Layout::weight_oi8;
}

}  // namespace troika
