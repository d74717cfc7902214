#include "kernels/cpu/fft_convolution.h"

#include <cmath>

#include "kernels/cpu/fft_weight.h"
#include "kernels/cpu/vector_lanes.h"

namespace troika {
namespace {

using Result = Convolution::Result;

constexpr int kSides[] = {16, 32, 64};
/// Of the window; below, transforms cost more than they save, above, tiles give too little.
constexpr std::int64_t kSmallest = 5, kLargest = 48;
/// Floats of spectra that a launch may hold: many channels under a large window would take
/// gigabytes.
constexpr std::int64_t kMostSpectra = std::int64_t{64} << 20;

FftImages images_of(const TensorSpec& images, std::int64_t lanes) {
  const Shape& shape = images.shape;
  return {shape[1], shape[2], shape[3], lanes};
}

std::array<std::int64_t, 2> window_of(const Convolution& c) {
  return {c.weight.shape[2], c.weight.shape[3]};
}

/// The places from the image, or the image's gradient from that of the places.
FftPlan plan_of(const Convolution& c, const Request& request, int side, std::int64_t lanes) {
  bool to_image = c.result == Result::image;
  const TensorSpec &from = to_image ? c.places : c.image, &to = to_image ? c.image : c.places;
  std::array<std::int64_t, 2> window = window_of(c), pad = c.pad;
  if (to_image) pad = {window[0] - 1 - pad[0], window[1] - 1 - pad[1]};
  FftPlan plan{.samples = from.shape[0],
               .from = images_of(from, lanes),
               .to = images_of(to, lanes),
               .window = window,
               .pad = pad,
               .side = side,
               .threads = request.context.threads};
  plan.divide();
  return plan;
}

FftForward forward_kernel(const Convolution& c, const FftPlan& plan, bool output_lanes_last) {
  bool to_places = c.result == Result::places;
  std::int64_t lanes = plan.lanes(), block = plan.window[0] * plan.window[1] * lanes * lanes,
               row = images_of(c.image, lanes).blocks() * block;
  FftForward kernel{.plan = plan,
                    .weights = {.to_stride = to_places ? row : block,
                                .from_stride = to_places ? block : row,
                                .to_last = to_places == output_lanes_last,
                                .flipped = !to_places},
                    .from_at = to_places ? c.image_at : c.places_at,
                    .weight_at = c.weight_at,
                    .to_at = to_places ? c.places_at : c.image_at};
  if (c.tail.bias) kernel.bias_at = 2;
  if (c.tail.activation) kernel.activation = in_place_loop(*c.tail.activation);
  return kernel;
}

Candidate candidate_of(const Convolution& c, const Request& request, const FftPlan& plan,
                       Layout weight) {
  Candidate candidate{.algorithm = "fft" + std::to_string(plan.side),
                      .layouts = std::vector(request.operands.size(), Layout::plain)};
  candidate.layouts[c.image_at] = candidate.layouts[c.places_at] =
      plan.lanes() == 16 ? Layout::blocked16 : Layout::blocked8;
  candidate.layouts[c.weight_at] = weight;
  return candidate;
}

void add(Offers& list, const Convolution& c, const Request& request, const FftPlan& plan) {
  bool wide = plan.lanes() == 16;
  Layout io = wide ? Layout::weight_io16 : Layout::weight_io8,
         oi = wide ? Layout::weight_oi16 : Layout::weight_oi8;
  auto offer = [&](Layout weight, auto kernel) {
    Candidate candidate = candidate_of(c, request, plan, weight);
    candidate.scratch = kernel.scratch();
    list.push_back(offer_loop(request, std::move(candidate), std::move(kernel)));
  };
  if (c.result == Result::weight) {
    FftWeight kernel{
        .plan = plan, .image_at = c.image_at, .places_at = c.places_at, .weight_at = c.weight_at};
    return offer(io, kernel);
  }
  offer(io, forward_kernel(c, plan, true));
  if (c.result == Result::image) offer(oi, forward_kernel(c, plan, false));
}

/// One for each side of tiles that the window fits into.
std::vector<FftPlan> plans_of(const Convolution& c, const Request& request, int lanes) {
  auto [height, width] = window_of(c);
  std::vector<FftPlan> plans;
  for (int side : kSides)
    if (std::max(height, width) <= side) plans.push_back(plan_of(c, request, side, lanes));
  return plans;
}

/// Multiplications and additions of all tiles; that a transform does fewer of them at once than a
/// product does is in its factor.
double arithmetic(const FftPlan& plan) {
  constexpr double kTransform = 8;  // per level and element
  double from = static_cast<double>(plan.from.channels), to = static_cast<double>(plan.to.channels),
         tiles = static_cast<double>(plan.tiles()), points = static_cast<double>(plan.points());
  double transform = kTransform * points * std::log2(plan.side * plan.side);
  return tiles * points * from * to * 8 + transform * (tiles * (from + to) + from * to);
}

}  // namespace

std::optional<std::string> why_not_fft(const Convolution& c, const Request&) {
  using Pair = std::array<std::int64_t, 2>;
  auto [height, width] = window_of(c);
  if (std::min(height, width) < kSmallest)
    return "Fourier transforms pay from a 5x5 window on; 3x3 ones are Winograd's";
  if (std::max(height, width) > kLargest) return "the FFT's tiles hold windows up to 48x48";
  if (c.stride != Pair{1, 1}) return "the FFT computes every place, so it needs stride 1";
  if (c.dilation != Pair{1, 1}) return "the FFT needs a window without dilation";
  if (c.groups != 1) return "the FFT needs a convolution without groups";
  if (c.image.dtype != DType::f32) return "the FFT is written for f32";
  return std::nullopt;
}

Offers fft_offers(const Convolution& c, const Request& request) {
  std::vector<FftPlan> plans = plans_of(c, request, widest_vector());
  double least = INFINITY;
  for (const FftPlan& plan : plans) least = std::min(least, arithmetic(plan));
  Offers list;
  for (const FftPlan& plan : plans)
    if (arithmetic(plan) <= 1.5 * least && plan.spectra_floats() <= kMostSpectra)
      add(list, c, request, plan);
  return list;
}

Offers fft_offers_in(const Convolution& c, const Request& request, int lanes) {
  Offers list;
  for (const FftPlan& plan : plans_of(c, request, lanes)) add(list, c, request, plan);
  return list;
}

}  // namespace troika
