// At stride 1 the gradient of the image is a forward convolution of the output's gradient, with the
// channels of the weight exchanged and every window reversed. On some machines oneDNN's forward
// kernels are faster than its backward ones, so both are offered.
#include <cstring>

#include "kernels/cpu/convolution_algorithms.h"

namespace troika {
namespace {

/// A weight as squares of lanes x lanes, one per pair of blocks of channels and element of the
/// window. Flipped, its two dimensions of blocks are exchanged and each window is read backwards;
/// the squares themselves stay as they are.
struct WeightSquares {
  std::int64_t rows, columns;  ///< Blocks of channels.
  std::int64_t window, square;

  std::int64_t floats() const { return rows * columns * window * square; }

  void flip(const float* from, int threads, float* to) const {
#pragma omp parallel for schedule(static) collapse(2) num_threads(threads)
    for (std::int64_t column = 0; column < columns; ++column) {
      for (std::int64_t row = 0; row < rows; ++row) {
        const float* block = from + (row * columns + column) * window * square;
        float* flipped = to + (column * rows + row) * window * square;
        for (std::int64_t at = 0; at < window; ++at)
          std::memcpy(flipped + at * square, block + (window - 1 - at) * square,
                      static_cast<std::size_t>(square) * sizeof(float));
      }
    }
  }
};

/// Flips the weights into the front of its scratch, then launches the forward kernel on them.
class FlippedKernel final : public Kernel {
 public:
  FlippedKernel(std::unique_ptr<Kernel> forward, const WeightSquares& squares,
                std::size_t weight_at, std::size_t operands, int threads)
      : forward_(std::move(forward)),
        squares_(squares),
        weight_at_(weight_at),
        operands_(operands),
        threads_(threads) {}

  void launch(std::span<const DevicePointer> operands, DevicePointer scratch,
              std::span<const std::int64_t> position) override {
    auto* flipped = reinterpret_cast<float*>(scratch);
    squares_.flip(reinterpret_cast<const float*>(operands[weight_at_]), threads_, flipped);
    // A copy of the addresses in a vector of the right size: launches do not allocate.
    std::ranges::copy(operands, operands_.begin());
    operands_[weight_at_] = scratch;
    forward_->launch(operands_, reinterpret_cast<DevicePointer>(flipped + squares_.floats()),
                     position);
  }

 private:
  std::unique_ptr<Kernel> forward_;
  WeightSquares squares_;
  std::size_t weight_at_;
  std::vector<DevicePointer> operands_;
  int threads_;
};

/// The forward convolution that reads the gradient of the output.
Convolution forward_of(const Convolution& c) {
  const Shape& weight = c.weight.shape;
  Convolution forward = c;
  forward.result = Convolution::Result::output;
  std::swap(forward.image, forward.output);
  std::swap(forward.image_at, forward.output_at);
  forward.weight.shape = {weight[1], weight[0], weight[2], weight[3]};
  for (std::size_t dim : {0u, 1u})
    // Together the two paddings are the reach of the window less 1, so the result has the size of
    // the image.
    forward.pad[dim] = (weight[2 + dim] - 1) * c.dilation[dim] - c.pad[dim];
  return forward;
}

/// Returns the stored layout whose flipped form the forward kernel reads, or nothing if squares
/// would have to be transposed.
std::optional<Layout> stored_for(Layout flipped) {
  if (flipped == Layout::weight_io16) return Layout::weight_oi16;
  if (flipped == Layout::weight_io8) return Layout::weight_oi8;
  return std::nullopt;
}

Offer flipped_offer(const Convolution& c, const Request& request, Offer forward, Layout stored) {
  const std::int64_t lanes = stored == Layout::weight_oi16 ? 16 : 8;
  const Shape& weight = c.weight.shape;
  WeightSquares squares{.rows = (weight[0] + lanes - 1) / lanes,
                        .columns = (weight[1] + lanes - 1) / lanes,
                        .window = weight[2] * weight[3],
                        .square = lanes * lanes};
  Candidate candidate = forward.candidate;
  candidate.algorithm = "flipped_" + candidate.algorithm;
  candidate.layouts[c.weight_at] = stored;
  candidate.scratch.count += squares.floats() * static_cast<std::int64_t>(sizeof(float));
  // The forward kernel's own scratch follows the flipped weights.
  auto make = [forward = std::move(forward), squares, weight_at = c.weight_at,
               operands = request.operands.size(),
               threads = request.context.threads](const Candidate&) {
    return std::make_unique<FlippedKernel>(forward.make(forward.candidate), squares, weight_at,
                                           operands, threads);
  };
  return {std::move(candidate), std::move(make)};
}

}  // namespace

std::optional<std::string> why_not_flipped(const Convolution& c, const Request& request) {
  using Pair = std::array<std::int64_t, 2>;
  if (c.result != Convolution::Result::image)
    return "flipped weights are for the gradient of the image";
  if (c.stride != Pair{1, 1}) return "flipped weights need stride 1";
  if (c.groups != 1) return "flipped weights need a convolution without groups";
  return why_not_direct(forward_of(c), request);
}

Offers flipped_offers(const Convolution& c, const Request& request) {
  Offers list;
  for (Offer& forward : direct_offers(forward_of(c), request)) {
    std::optional<Layout> stored = stored_for(forward.candidate.layouts[c.weight_at]);
    if (stored) list.push_back(flipped_offer(c, request, std::move(forward), *stored));
  }
  return list;
}

}  // namespace troika
