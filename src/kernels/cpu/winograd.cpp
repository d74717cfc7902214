#include "kernels/cpu/winograd.h"

#include "kernels/cpu/vector_lanes.h"
#include "kernels/cpu/winograd_forward.h"
#include "kernels/cpu/winograd_weight.h"

namespace troika {
namespace {

using Result = Convolution::Result;

BlockedImages blocked(const TensorSpec& images, std::int64_t lanes) {
  const Shape& shape = images.shape;
  return {(shape[1] + lanes - 1) / lanes, shape[2], shape[3], lanes};
}

Layout blocked_by(int lanes) { return lanes == 16 ? Layout::blocked16 : Layout::blocked8; }
Layout input_first(int lanes) { return lanes == 16 ? Layout::weight_io16 : Layout::weight_io8; }

Candidate candidate_of(const Convolution& c, const Request& request, int outputs, Layout images,
                       Layout weight) {
  Candidate candidate{.algorithm = "winograd" + std::to_string(outputs),
                      .layouts = std::vector(request.operands.size(), Layout::plain)};
  candidate.layouts[c.image_at] = candidate.layouts[c.places_at] = images;
  candidate.layouts[c.weight_at] = weight;
  return candidate;
}

/// The places from the image, or the image's gradient from that of the places.
WinogradForward forward_kernel(const Convolution& c, const Request& request, int outputs,
                               std::int64_t lanes, bool output_lanes_last) {
  bool to_places = c.result == Result::places;
  const TensorSpec &from = to_places ? c.image : c.places, &to = to_places ? c.places : c.image;
  std::int64_t block = 9 * lanes * lanes, row = blocked(c.image, lanes).blocks * block;
  WinogradForward kernel{.plan = {.samples = from.shape[0],
                                  .from = blocked(from, lanes),
                                  .to = blocked(to, lanes),
                                  .pad = to_places ? c.pad : std::array{2 - c.pad[0], 2 - c.pad[1]},
                                  .outputs = outputs,
                                  .threads = request.context.threads},
                         .weights = {.to_stride = to_places ? row : block,
                                     .from_stride = to_places ? block : row,
                                     .to_last = to_places == output_lanes_last,
                                     .flipped = !to_places},
                         .from_at = to_places ? c.image_at : c.places_at,
                         .weight_at = c.weight_at,
                         .to_at = to_places ? c.places_at : c.image_at,
                         .channels = to.shape[1]};
  if (c.tail.bias) kernel.bias_at = 2;
  if (c.tail.activation) kernel.activation = in_place_loop(*c.tail.activation);
  kernel.divide();
  return kernel;
}

void add_forward(Offers& list, const Convolution& c, const Request& request, int outputs,
                 int lanes) {
  Layout io = input_first(lanes), oi = lanes == 16 ? Layout::weight_oi16 : Layout::weight_oi8;
  for (Layout weight : {io, oi}) {
    if (weight == oi && c.result == Result::places) continue;
    WinogradForward kernel = forward_kernel(c, request, outputs, lanes, weight == io);
    Candidate candidate = candidate_of(c, request, outputs, blocked_by(lanes), weight);
    candidate.scratch = kernel.scratch();
    list.push_back(offer_loop(request, std::move(candidate), std::move(kernel)));
  }
}

void add_weight(Offers& list, const Convolution& c, const Request& request, int outputs,
                int lanes) {
  WinogradWeight kernel{.plan = {.samples = c.image.shape[0],
                                 .from = blocked(c.image, lanes),
                                 .to = blocked(c.places, lanes),
                                 .pad = c.pad,
                                 .outputs = outputs,
                                 .threads = request.context.threads},
                        .image_at = c.image_at,
                        .places_at = c.places_at,
                        .weight_at = c.weight_at};
  kernel.divide();
  Candidate candidate = candidate_of(c, request, outputs, blocked_by(lanes), input_first(lanes));
  candidate.scratch = kernel.scratch();
  list.push_back(offer_loop(request, std::move(candidate), kernel));
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
  for (int outputs : {4, 2}) {
    if (c.result == Result::weight)
      add_weight(list, c, request, outputs, lanes);
    else
      add_forward(list, c, request, outputs, lanes);
  }
  return list;
}

}  // namespace troika
