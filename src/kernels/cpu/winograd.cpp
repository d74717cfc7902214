#include "kernels/cpu/winograd.h"

#include "kernels/cpu/convolution_algorithms.h"
#include "kernels/cpu/vector_lanes.h"

namespace troika {
namespace {

using Result = Convolution::Result;

/// The output from the image, or the image's gradient from that of the output. The latter is a
/// convolution with flipped weights whose padding complements the forward one to the window less 1.
WinogradForward forward_kernel(const Convolution& c, const Request& request, int outputs,
                               std::int64_t lanes, bool output_lanes_last) {
  bool to_output = c.result == Result::output;
  const TensorSpec &from = to_output ? c.image : c.output, &to = to_output ? c.output : c.image;
  WinogradForward kernel{.plan = {.samples = from.shape[0],
                                  .from = blocked_images(from, lanes),
                                  .to = blocked_images(to, lanes),
                                  .pad = to_output ? c.pad : std::array{2 - c.pad[0], 2 - c.pad[1]},
                                  .outputs = outputs,
                                  .threads = request.context.threads},
                         .weights = blocked_weights(c, lanes, output_lanes_last),
                         .from_at = to_output ? c.image_at : c.output_at,
                         .weight_at = c.weight_at,
                         .to_at = to_output ? c.output_at : c.image_at};
  if (c.tail.bias) kernel.bias_at = 2;
  if (c.tail.activation) kernel.activation = in_place_loop(*c.tail.activation);
  kernel.divide();
  return kernel;
}

WinogradWeight weight_kernel(const Convolution& c, const Request& request, int outputs,
                             std::int64_t lanes) {
  WinogradWeight kernel{.plan = {.samples = c.image.shape[0],
                                 .from = blocked_images(c.image, lanes),
                                 .to = blocked_images(c.output, lanes),
                                 .pad = c.pad,
                                 .outputs = outputs,
                                 .threads = request.context.threads},
                        .image_at = c.image_at,
                        .output_at = c.output_at,
                        .weight_at = c.weight_at};
  kernel.divide();
  return kernel;
}

}  // namespace

std::optional<std::string> why_not_winograd(const Convolution& c, const Request& request) {
  using Pair = std::array<std::int64_t, 2>;
  if (!request.context.winograd) return "Winograd is switched off";
  if (c.weight.shape[2] != 3 || c.weight.shape[3] != 3 || c.stride != Pair{1, 1})
    return "Winograd needs a 3x3 window at stride 1";
  if (c.dilation != Pair{1, 1}) return "Winograd needs a window without dilation";
  if (c.groups != 1) return "Winograd needs a convolution without groups";
  if (c.image.dtype != DType::f32) return "Winograd is written for f32";
  return std::nullopt;
}

Offers winograd_offers(const Convolution& c, const Request& request) {
  return winograd_offers_in(c, request, widest_vector());
}

Offers winograd_offers_in(const Convolution& c, const Request& request, int lanes) {
  Offers list;
  // Larger tiles need less arithmetic per element; smaller ones compute less beyond the border of a
  // small image and have smaller errors. Timing decides.
  for (int outputs : {4, 2}) {
    auto add = [&](Layout weight, auto kernel) {
      Candidate candidate =
          blocked_candidate(c, request, "winograd" + std::to_string(outputs), lanes, weight);
      candidate.scratch = kernel.scratch();
      list.push_back(offer_loop(request, std::move(candidate), std::move(kernel)));
    };
    if (c.result == Result::weight) {
      add(output_last_layout(lanes), weight_kernel(c, request, outputs, lanes));
      continue;
    }
    add(output_last_layout(lanes), forward_kernel(c, request, outputs, lanes, true));
    // Backward kernels of oneDNN read the other layout; offering both may save a reorder.
    if (c.result == Result::image)
      add(image_last_layout(lanes), forward_kernel(c, request, outputs, lanes, false));
  }
  return list;
}

}  // namespace troika
