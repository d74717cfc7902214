// Chooses the tiles of Fourier convolutions and offers their kernels.
#include "kernels/cpu/fft.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/convolution_algorithms.h"
#include "kernels/cpu/vector_lanes.h"

namespace troika {
namespace {

using Result = Convolution::Result;

constexpr int kSides[] = {16, 32, 64};
/// Sides of the window. With smaller ones the transforms cost more than they save; with larger ones
/// a tile yields too few elements.
constexpr std::int64_t kSmallest = 5, kLargest = 48;
/// Most floats of spectra per launch: 256 MiB. Many channels under a large window would need
/// gigabytes.
constexpr std::int64_t kMostSpectra = std::int64_t{64} << 20;

std::array<std::int64_t, 2> window_of(const Convolution& c) {
  return {c.weight.shape[2], c.weight.shape[3]};
}

/// The output from the image, or the image's gradient from that of the output. The latter is a
/// convolution with flipped weights whose padding complements the forward one to the window less 1.
FftPlan plan_of(const Convolution& c, const Request& request, int side, std::int64_t lanes) {
  bool to_image = c.result == Result::image;
  const TensorSpec &from = to_image ? c.output : c.image, &to = to_image ? c.image : c.output;
  std::array<std::int64_t, 2> window = window_of(c), pad = c.pad;
  if (to_image) pad = {window[0] - 1 - pad[0], window[1] - 1 - pad[1]};
  FftPlan plan{.samples = from.shape[0],
               .from = blocked_images(from, lanes),
               .to = blocked_images(to, lanes),
               .window = window,
               .pad = pad,
               .side = side,
               .threads = request.context.threads};
  plan.divide();
  return plan;
}

FftForward forward_kernel(const Convolution& c, const FftPlan& plan, bool output_lanes_last) {
  bool to_output = c.result == Result::output;
  FftForward kernel{.plan = plan,
                    .weights = blocked_weights(c, plan.lanes(), output_lanes_last),
                    .from_at = to_output ? c.image_at : c.output_at,
                    .weight_at = c.weight_at,
                    .to_at = to_output ? c.output_at : c.image_at};
  if (c.tail.bias) kernel.bias_at = 2;
  if (c.tail.activation) kernel.activation = in_place_loop(*c.tail.activation);
  return kernel;
}

void add_kernels(Offers& list, const Convolution& c, const Request& request, const FftPlan& plan) {
  auto add = [&](Layout weight, auto kernel) {
    Candidate candidate =
        blocked_candidate(c, request, "fft" + std::to_string(plan.side), plan.lanes(), weight);
    candidate.scratch = kernel.scratch();
    list.push_back(offer_loop(request, std::move(candidate), std::move(kernel)));
  };
  if (c.result == Result::weight)
    return add(output_last_layout(plan.lanes()), FftWeight{.plan = plan,
                                                           .image_at = c.image_at,
                                                           .output_at = c.output_at,
                                                           .weight_at = c.weight_at});
  add(output_last_layout(plan.lanes()), forward_kernel(c, plan, true));
  // Backward kernels of oneDNN read the other layout; offering both may save a reorder.
  if (c.result == Result::image)
    add(image_last_layout(plan.lanes()), forward_kernel(c, plan, false));
}

/// One plan for each side of tiles that holds the window.
std::vector<FftPlan> plans_of(const Convolution& c, const Request& request, int lanes) {
  auto [height, width] = window_of(c);
  std::vector<FftPlan> plans;
  for (int side : kSides)
    if (std::max(height, width) <= side) plans.push_back(plan_of(c, request, side, lanes));
  return plans;
}

/// Multiplications and additions of all tiles: 8 per point of a complex product. A transform takes
/// about 5 per point and level, but keeps fewer in flight than a product, so it is counted with 8.
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
  if (c.stride != Pair{1, 1})
    return "the FFT computes every position of the window, so it needs stride 1";
  if (c.dilation != Pair{1, 1}) return "the FFT needs a window without dilation";
  if (c.groups != 1) return "the FFT needs a convolution without groups";
  if (c.image.dtype != DType::f32) return "the FFT is written for f32";
  return std::nullopt;
}

void FftPlan::divide() {
  // Floats. The spectra of one step should stay in a last-level cache of 16 MiB and more; spectra
  // of `from` that are read once per panel may be larger than the cache.
  constexpr std::int64_t kCached = (16 << 20) / 4, kKept = (64 << 20) / 4;
  group = tiles(), panel = 1;
  // Preferably one group: the weights are transformed once in any case, and narrow panels keep the
  // scratch small. Panels are pairs of blocks, as Spectra stores them.
  if (from_spectra().floats() <= kKept) {
    std::int64_t pairs = kCached / (2 * (to_spectra().floats() + weight_spectra().floats()));
    panel = std::min(to.blocks, 2 * std::max<std::int64_t>(pairs, 1));
    return;
  }
  // Otherwise one panel. Every group reads the spectra of all weights; if those exceed the cache, a
  // group as large as they are reads no more of weights than of tiles.
  panel = to.blocks, group = 1;
  std::int64_t room = std::max(kCached, weight_spectra().floats());
  group = std::clamp<std::int64_t>(room / (from_spectra().floats() + to_spectra().floats()), 1,
                                   tiles());
  // The same number of groups, but equal ones: scratch is sized for the largest.
  group = (tiles() + groups() - 1) / groups();
}

Offers fft_offers(const Convolution& c, const Request& request) {
  std::vector<FftPlan> plans = plans_of(c, request, widest_vector());
  double least = INFINITY;
  for (const FftPlan& plan : plans) least = std::min(least, arithmetic(plan));
  Offers list;
  for (const FftPlan& plan : plans)
    // The count of arithmetic is only an estimate, so near misses are offered and measured too.
    if (arithmetic(plan) <= 1.5 * least && plan.spectra_floats() <= kMostSpectra)
      add_kernels(list, c, request, plan);
  return list;
}

Offers fft_offers_in(const Convolution& c, const Request& request, int lanes) {
  Offers list;
  for (const FftPlan& plan : plans_of(c, request, lanes)) add_kernels(list, c, request, plan);
  return list;
}

}  // namespace troika
