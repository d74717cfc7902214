// Two sums per channel over all positions, in a fixed order for a given number of threads: in f32
// by lanes, in f64 by blocks.
#pragma once

#include <type_traits>

#include "kernels/cpu/channel_writes.h"

namespace troika {

/// Where only one sum is wanted.
struct NoTerm {
  float operator()(std::int64_t, std::int64_t) const { return 0; }
};

/// Adds f and g of a run of one channel to two sums.
template <class F, class G>
TROIKA_VECTORIZED void sum_plane(const ChannelRun& run, const F& f, const G& g, double* first_sum,
                                 double* second_sum) {
  F first = f;
  G second = g;
  std::int64_t channel = run.channel, stop = run.element + run.rows;
  for (std::int64_t at = run.element; at < stop; at += 1024) {
    std::int64_t end = std::min(at + 1024, stop);
    float a = 0, b = 0;
#pragma omp simd reduction(+ : a, b)
    for (std::int64_t i = at; i < end; ++i) {
      a += first(i, channel);
      b += second(i, channel);
    }
    *first_sum += static_cast<double>(a);
    *second_sum += static_cast<double>(b);
  }
}

/// Adds f and g of few rows to two sums per lane.
template <int Lanes, class F, class G>
TROIKA_VECTORIZED void sum_tile(const ChannelRun& tile, const F& f, const G& g, double* first_sums,
                                double* second_sums) {
  F first = f;
  G second = g;
  float a[Lanes] = {}, b[Lanes] = {};
  for (std::int64_t row = 0; row < tile.rows; ++row) {
    std::int64_t element = tile.element + row * Lanes, channel = tile.channel;
#pragma omp simd
    for (std::int64_t lane = 0; lane < Lanes; ++lane) {
      a[lane] += first(element + lane, channel + lane);
      b[lane] += second(element + lane, channel + lane);
    }
  }
#pragma omp simd
  for (std::int64_t lane = 0; lane < Lanes; ++lane) {
    first_sums[lane] += static_cast<double>(a[lane]);
    second_sums[lane] += static_cast<double>(b[lane]);
  }
}

/// Lanes that a wide tile has at most.
inline constexpr std::int64_t kWideTile = 1024;

/// Adds f and g of few rows of many lanes to two sums per lane; what a row needs of the partial
/// sums stays in the nearest cache.
template <class F, class G>
TROIKA_VECTORIZED void sum_wide_tile(const ChannelRun& tile, std::int64_t stride,
                                     std::int64_t width, const F& f, const G& g, double* first_sums,
                                     double* second_sums) {
  F first = f;
  G second = g;
  constexpr bool kTwo = !std::is_same_v<G, NoTerm>;
  float a[kWideTile], b[kTwo ? kWideTile : 1];
  std::fill_n(a, width, 0.0f);
  if constexpr (kTwo) std::fill_n(b, width, 0.0f);
  for (std::int64_t row = 0; row < tile.rows; ++row) {
    std::int64_t element = tile.element + row * stride, channel = tile.channel;
#pragma omp simd
    for (std::int64_t lane = 0; lane < width; ++lane) {
      a[lane] += first(element + lane, channel + lane);
      if constexpr (kTwo) b[lane] += second(element + lane, channel + lane);
    }
  }
#pragma omp simd
  for (std::int64_t lane = 0; lane < width; ++lane) {
    first_sums[lane] += static_cast<double>(a[lane]);
    if constexpr (kTwo) second_sums[lane] += static_cast<double>(b[lane]);
  }
}

/// Adds a run to sums per lane.
template <class F, class G>
void sum_run(const ChannelRun& run, std::int64_t lanes, const F& f, const G& g, double* first,
             double* second) {
  constexpr std::int64_t kRows = 64;
  if (lanes == 1) return sum_plane(run, f, g, first, second);
  for (std::int64_t row = 0; row < run.rows; row += kRows) {
    for (std::int64_t lane = 0; lane < lanes; lane += kWideTile) {
      ChannelRun tile{run.element + row * lanes + lane, std::min(kRows, run.rows - row),
                      run.channel + lane};
      if (lanes == 16)
        sum_tile<16>(tile, f, g, first, second);
      else if (lanes == 8)
        sum_tile<8>(tile, f, g, first, second);
      else
        sum_wide_tile(tile, lanes, std::min(kWideTile, lanes - lane), f, g, first + lane,
                      second + lane);
    }
  }
}

/// Doubles of scratch that the sums need.
inline std::int64_t channel_sum_doubles(const ChannelView& view, int threads) {
  return 2 * view.padded() * (threads + 1);
}

/// Two sums per channel, of f and of g, in two arrays of view.padded() each at the start of `work`.
/// Both must give 0 for padding.
template <class F, class G>
void channel_sums(const ChannelView& view, int threads, double* work, const F& f, const G& g) {
  std::int64_t stride = view.padded();
  int parts = view.elements() < kSmallLoop ? 1 : threads;
  for_rows(parts, parts, view.elements(), [&](std::int64_t part) {
    double* sums = work + (part + 1) * 2 * stride;
    std::fill_n(sums, 2 * stride, 0.0);
    for_runs(view, part_of(view.outer * view.blocks * view.inner, part, parts),
             [&](const ChannelRun& run) {
               sum_run(run, view.lanes, f, g, sums + run.channel, sums + stride + run.channel);
             });
  });
  std::fill_n(work, 2 * stride, 0.0);
  for (int part = 0; part < parts; ++part) {
    const double* sums = work + (part + 1) * 2 * stride;
    run_range(0, 2 * stride, [=](std::int64_t i) { work[i] += sums[i]; });
  }
}

}  // namespace troika
