// Loops over tensors with channels: element by element with the channel known, and sums over all
// positions, two per channel, in a fixed order for a given number of threads.
#pragma once

#include <algorithm>

#include "kernels/cpu/channel_view.h"
#include "kernels/cpu/loops.h"

namespace troika {

/// f(element, channel) for positions `at` to `end` of all runs; Lanes is the view's, or 0 when it
/// is not known here.
template <int Lanes, class F>
TROIKA_VECTORIZED void run_lanes(const ChannelView& view, Range rows, const F& f) {
  F local = f;
  std::int64_t lanes = Lanes > 0 ? Lanes : view.lanes;
  for (std::int64_t row = rows.begin; row < rows.end;) {
    std::int64_t run = row / view.inner, stop = std::min(rows.end, (run + 1) * view.inner);
    std::int64_t channel = run % view.blocks * lanes;
    for (; row < stop; ++row) {
#pragma omp simd
      for (std::int64_t lane = 0; lane < lanes; ++lane) local(row * lanes + lane, channel + lane);
    }
  }
}

/// The same where lanes is 1: a run is neighbours in memory.
template <class F>
TROIKA_VECTORIZED void run_planes(const ChannelView& view, Range rows, const F& f) {
  F local = f;
  for (std::int64_t row = rows.begin; row < rows.end;) {
    std::int64_t run = row / view.inner, stop = std::min(rows.end, (run + 1) * view.inner),
                 channel = run % view.blocks;
#pragma omp simd
    for (std::int64_t i = row; i < stop; ++i) local(i, channel);
    row = stop;
  }
}

/// f(element, channel) for every element, padding included: what f reads per channel must be
/// padded.
template <class F>
void for_channels(int threads, const ChannelView& view, const F& f) {
  int parts = view.elements() < kSmallLoop ? 1 : threads;
  for_shares(parts, view.outer * view.blocks * view.inner, 16,
             [&](std::int64_t begin, std::int64_t end) {
               Range rows{begin, end};
               if (view.lanes == 1)
                 run_planes(view, rows, f);
               else if (view.lanes == 16)
                 run_lanes<16>(view, rows, f);
               else if (view.lanes == 8)
                 run_lanes<8>(view, rows, f);
               else
                 run_lanes<0>(view, rows, f);
             });
}

/// One number per channel, with zeros where the layout pads; copied to `work` only where it does.
inline const float* pad_channels(const ChannelView& view, const float* values, float* work) {
  if (view.padded() == view.channels) return values;
  std::fill(std::copy_n(values, view.channels, work), work + view.padded(), 0.0f);
  return work;
}

/// Where only one sum is wanted.
struct NoTerm {
  float operator()(std::int64_t, std::int64_t) const { return 0; }
};

/// Adds f and g of the elements [begin, end), all of one channel, to two sums: in f32 by vector
/// lanes, in f64 by blocks.
template <class F, class G>
TROIKA_VECTORIZED void sum_plane(Range elements, std::int64_t channel, const F& f, const G& g,
                                 double* sums) {
  F first = f;
  G second = g;
  for (std::int64_t at = elements.begin; at < elements.end; at += 1024) {
    std::int64_t end = std::min(at + 1024, elements.end);
    float a = 0, b = 0;
#pragma omp simd reduction(+ : a, b)
    for (std::int64_t i = at; i < end; ++i) {
      a += first(i, channel);
      b += second(i, channel);
    }
    sums[0] += static_cast<double>(a);
    sums[1] += static_cast<double>(b);
  }
}

/// Adds f and g of `positions` rows of `width` lanes, `stride` elements apart, to two sums per
/// lane.
template <int Width, class F, class G>
TROIKA_VECTORIZED void sum_tile(std::int64_t first_element, std::int64_t stride,
                                std::int64_t positions, std::int64_t channel, std::int64_t width,
                                const F& f, const G& g, double* first_sums, double* second_sums) {
  F first = f;
  G second = g;
  std::int64_t lanes = Width > 0 ? Width : width;
  for (std::int64_t at = 0; at < positions; at += 64) {
    std::int64_t end = std::min(at + 64, positions);
    float a[16] = {}, b[16] = {};
    for (std::int64_t position = at; position < end; ++position) {
      std::int64_t element = first_element + position * stride;
#pragma omp simd
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        a[lane] += first(element + lane, channel + lane);
        b[lane] += second(element + lane, channel + lane);
      }
    }
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      first_sums[lane] += static_cast<double>(a[lane]);
      second_sums[lane] += static_cast<double>(b[lane]);
    }
  }
}

/// Adds the rows [begin, end) of a view with lanes to sums, first and second of padded() each.
template <class F, class G>
void sum_rows(const ChannelView& view, Range rows, const F& f, const G& g, double* sums) {
  for (std::int64_t row = rows.begin; row < rows.end;) {
    std::int64_t run = row / view.inner, stop = std::min(rows.end, (run + 1) * view.inner);
    std::int64_t channel = run % view.blocks * view.lanes;
    for (std::int64_t lane = 0; lane < view.lanes; lane += 16) {
      std::int64_t width = std::min<std::int64_t>(16, view.lanes - lane),
                   element = row * view.lanes + lane;
      double *first = sums + channel + lane, *second = first + view.padded();
      if (width == 16)
        sum_tile<16>(element, view.lanes, stop - row, channel + lane, width, f, g, first, second);
      else if (width == 8)
        sum_tile<8>(element, view.lanes, stop - row, channel + lane, width, f, g, first, second);
      else
        sum_tile<0>(element, view.lanes, stop - row, channel + lane, width, f, g, first, second);
    }
    row = stop;
  }
}

/// Doubles of scratch that channel_sums needs.
inline std::int64_t channel_sum_doubles(const ChannelView& view, int threads) {
  return 2 * view.padded() * (threads + 1);
}

/// Two sums per channel, of f and of g, in two arrays of view.padded() each at the start of `work`.
/// Both must give 0 for padding.
template <class F, class G>
void channel_sums(const ChannelView& view, int threads, double* work, const F& f, const G& g) {
  std::int64_t stride = view.padded();
  if (view.lanes == 1) {
    for_rows(threads, view.blocks, view.positions(), [&](std::int64_t channel) {
      double sums[2] = {};
      for (std::int64_t outer = 0; outer < view.outer; ++outer) {
        std::int64_t begin = (outer * view.blocks + channel) * view.inner;
        sum_plane({begin, begin + view.inner}, channel, f, g, sums);
      }
      work[channel] = sums[0];
      work[stride + channel] = sums[1];
    });
    return;
  }
  int parts = view.elements() < kSmallLoop ? 1 : threads;
  for_rows(parts, parts, view.elements(), [&](std::int64_t part) {
    double* sums = work + (part + 1) * 2 * stride;
    std::fill_n(sums, 2 * stride, 0.0);
    sum_rows(view, part_of(view.outer * view.blocks * view.inner, part, parts), f, g, sums);
  });
  std::fill_n(work, 2 * stride, 0.0);
  for (int part = 0; part < parts; ++part) {
    const double* sums = work + (part + 1) * 2 * stride;
    run_range(0, 2 * stride, [=](std::int64_t i) { work[i] += sums[i]; });
  }
}

}  // namespace troika
