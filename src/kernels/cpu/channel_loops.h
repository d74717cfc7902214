// Loops over tensors with channels: element by element with the channel known, and sums over all positions, one per channel,
// in f64 and in a fixed order for a given number of threads.
#pragma once

#include <algorithm>
#include <array>

#include "kernels/cpu/channel_view.h"
#include "kernels/cpu/loops.h"

namespace troika {

/// f(element, channel) for the elements of some rows.
template <class F>
TROIKA_VECTORIZED void run_channels(const ChannelView& view, Range rows, const F& f) {
  F local = f;
  std::int64_t length = view.row_length();
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    std::int64_t at = row * length, first = view.channel_of(row);
    if (view.lanes == 1) {
#pragma omp simd
      for (std::int64_t i = 0; i < length; ++i) local(at + i, first);
    } else {
#pragma omp simd
      for (std::int64_t i = 0; i < length; ++i) local(at + i, first + i);
    }
  }
}

/// f(element, channel) for every element, padding included: what f reads per channel must be padded.
template <class F>
void for_channels(int threads, const ChannelView& view, const F& f) {
  int parts = view.elements() < kSmallLoop ? 1 : threads;
  for_shares(parts, view.rows(), 1,
             [&](std::int64_t begin, std::int64_t end) { run_channels(view, {begin, end}, f); });
}

/// One number per channel, with zeros where the layout pads; copied to `work` only where it does.
inline const float* pad_channels(const ChannelView& view, const float* values, float* work) {
  if (view.padded() == view.channels) return values;
  std::fill(std::copy_n(values, view.channels, work), work + view.padded(), 0.0f);
  return work;
}

/// Where the terms of K sums per channel come from: f(element, channel, k) is a term.
template <std::size_t K, class F>
TROIKA_VECTORIZED void sum_run(std::int64_t begin, std::int64_t end, std::int64_t channel, const F& f, double* sums) {
  F local = f;
  for (std::size_t k = 0; k < K; ++k) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = begin; i < end; ++i) sum += local(i, channel, k);
    sums[k] += sum;
  }
}

/// Adds the terms of one row of lanes to K arrays of `stride` sums.
template <std::size_t K, class F>
TROIKA_VECTORIZED void sum_lanes(const ChannelView& view, Range rows, const F& f, double* sums) {
  F local = f;
  std::int64_t lanes = view.lanes, stride = view.padded();
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    std::int64_t first = view.channel_of(row), at = row * lanes;
    for (std::size_t k = 0; k < K; ++k) {
      double* into = sums + static_cast<std::int64_t>(k) * stride + first;
#pragma omp simd
      for (std::int64_t lane = 0; lane < lanes; ++lane) into[lane] += local(at + lane, first + lane, k);
    }
  }
}

/// Doubles of scratch that channel_sums needs.
inline std::int64_t channel_sum_doubles(const ChannelView& view, std::size_t sums, int threads) {
  return static_cast<std::int64_t>(sums) * view.padded() * (threads + 1);
}

/// The sums, in K arrays of view.padded() each, at the start of `work`. f must give 0 for channels that are padding.
template <std::size_t K, class F>
void channel_sums(const ChannelView& view, int threads, double* work, const F& f) {
  std::int64_t stride = view.padded(), total = static_cast<std::int64_t>(K) * stride;
  if (view.lanes == 1) {
    for_rows(threads, view.blocks, view.outer * view.inner, [&](std::int64_t channel) {
      std::array<double, K> sums{};
      for (std::int64_t outer = 0; outer < view.outer; ++outer) {
        std::int64_t begin = (outer * view.blocks + channel) * view.inner;
        sum_run<K>(begin, begin + view.inner, channel, f, sums.data());
      }
      for (std::size_t k = 0; k < K; ++k) work[static_cast<std::int64_t>(k) * stride + channel] = sums[k];
    });
    return;
  }
  int parts = view.elements() < kSmallLoop ? 1 : threads;
  for_rows(parts, parts, view.elements(), [&](std::int64_t part) {
    double* sums = work + (part + 1) * total;
    std::fill_n(sums, total, 0.0);
    sum_lanes<K>(view, part_of(view.rows(), part, parts), f, sums);
  });
  std::fill_n(work, total, 0.0);
  for (int part = 0; part < parts; ++part) {
    const double* sums = work + (part + 1) * total;
    run_range(0, total, [=](std::int64_t i) { work[i] += sums[i]; });
  }
}

}  // namespace troika
