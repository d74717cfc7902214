// Channels are summed over a window at each pixel. Neighbouring pixels are the vector lanes.
#include <omp.h>

#include <algorithm>

#include "kernels/cpu/loops.h"
#include "kernels/cpu/offers.h"
#include "kernels/cpu/vector_math.h"

namespace troika {
namespace {

/// Pixels that are worked on together: channels of a pixel lie `area` apart, neighbouring pixels
/// side by side.
constexpr std::int64_t kPixels = 128;

struct Shape4 {
  std::int64_t samples, channels, area;
};

struct Window {
  std::int64_t before, after;

  Range around(std::int64_t channel, std::int64_t channels) const {
    return intersect(Range{channel - before, channel + after + 1}, Range{0, channels});
  }
};

/// f(first element, pixels) for runs of pixels of one sample.
template <class F>
void for_pixels(int threads, const Shape4& s, const F& f) {
  std::int64_t runs = (s.area + kPixels - 1) / kPixels;
  for_rows(threads, s.samples * runs, s.channels * 16 * std::min(s.area, kPixels),
           [&](std::int64_t at) {
             std::int64_t pixel = at % runs * kPixels;
             f(at / runs * s.channels * s.area + pixel, std::min(kPixels, s.area - pixel));
           });
}

/// k + alpha/size * sum of squares over the window of one channel, for a run of pixels.
void denominators(const LocalResponseNorm& op, const Shape4& s, const float* x,
                  std::int64_t channel, std::int64_t pixels, float* out) {
  Range window = Window{op.size / 2, (op.size - 1) / 2}.around(channel, s.channels);
  auto k = static_cast<float>(op.k),
       factor = static_cast<float>(op.alpha / static_cast<double>(op.size));
  run_range(0, pixels, [=](std::int64_t i) { out[i] = k; });
  for (std::int64_t other = window.begin; other < window.end; ++other)
    run_range(0, pixels, [=, row = x + other * s.area](std::int64_t i) {
      out[i] += factor * row[i] * row[i];
    });
}

Loop forward(const LocalResponseNorm& op, const Shape4& s) {
  return [=](const Launch& launch) {
    auto power = static_cast<float>(-op.beta);
    for_pixels(launch.threads, s, [&](std::int64_t first, std::int64_t pixels) {
      float denominator[kPixels];
      for (std::int64_t c = 0; c < s.channels; ++c) {
        denominators(op, s, launch.at(0) + first, c, pixels, denominator);
        const float *x = launch.at(0) + first + c * s.area, *d = denominator;
        float* y = launch.at(1) + first + c * s.area;
        run_range(0, pixels,
                  [=](std::int64_t i) { y[i] = x[i] * vector_exp(power * vector_log(d[i])); });
      }
    });
  };
}

/// dx[c] = dy[c] d[c]^-beta - 2 alpha beta / size * x[c] * sum over the windows that see c of
/// dy x d^(-beta-1). Both powers of all channels of a run of pixels wait in the thread's scratch.
Loop backward(const LocalResponseNorm& op, const Shape4& s) {
  return [=](const Launch& launch) {
    auto power = static_cast<float>(-op.beta);
    auto factor = static_cast<float>(2 * op.alpha * op.beta / static_cast<double>(op.size));
    // The windows that contain c belong to the channels around it, with the two sides exchanged.
    Window seen_by{(op.size - 1) / 2, op.size / 2};
    for_pixels(launch.threads, s, [&](std::int64_t first, std::int64_t pixels) {
      float* scaled = launch.work() + omp_get_thread_num() * 2 * s.channels * kPixels;
      float* terms = scaled + s.channels * kPixels;
      for (std::int64_t c = 0; c < s.channels; ++c) {
        const float *x = launch.at(0) + first + c * s.area, *dy = launch.at(1) + first + c * s.area;
        float *own = scaled + c * kPixels, *term = terms + c * kPixels;
        denominators(op, s, launch.at(0) + first, c, pixels, term);
        run_range(0, pixels, [=](std::int64_t i) {
          own[i] = dy[i] * vector_exp(power * vector_log(term[i]));
          term[i] = own[i] * x[i] / term[i];
        });
      }
      for (std::int64_t c = 0; c < s.channels; ++c) {
        Range window = seen_by.around(c, s.channels);
        const float *x = launch.at(0) + first + c * s.area, *own = scaled + c * kPixels;
        float* dx = launch.at(2) + first + c * s.area;
        run_range(0, pixels, [dx](std::int64_t i) { dx[i] = 0; });
        for (std::int64_t other = window.begin; other < window.end; ++other)
          run_range(0, pixels,
                    [dx, term = terms + other * kPixels](std::int64_t i) { dx[i] += term[i]; });
        run_range(0, pixels, [=](std::int64_t i) { dx[i] = own[i] - factor * x[i] * dx[i]; });
      }
    });
  };
}

}  // namespace

Offers offers(const LocalResponseNorm& op, const Request& request) {
  const Shape& x = request.shape(0);
  Shape4 shape{x[0], x[1], x[2] * x[3]};
  bool is_forward = request.key.phase == Phase::forward;
  Candidate candidate{.algorithm = "loop",
                      .layouts = std::vector(request.operands.size(), Layout::plain)};
  if (!is_forward) candidate.scratch = {8 * kPixels * shape.channels * request.context.threads};
  return {offer_loop(request, candidate, is_forward ? forward(op, shape) : backward(op, shape))};
}

}  // namespace troika
