// Two sums per channel over all positions, in a fixed order for a given number of threads: in f32
// by lanes, in f64 by blocks.
#pragma once

#include <type_traits>

#include "kernels/cpu/channel_writes.h"

namespace troika {

/// The second term if only one sum is needed.
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

/// Most lanes of a wide tile.
inline constexpr std::int64_t kWideTile = 1024;

/// Adds f and g of few rows of many lanes to two sums per lane. The partial sums of a row stay in
/// the first-level cache.
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

/// Doubles of scratch for the sums.
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

/// Sums over a block of channels, then elements of the block computed from the sums. The second
/// pass finds in a cache what the first one has read.
class ChannelBlocks {
 public:
  /// `work` has channel_sum_doubles().
  ChannelBlocks(const ChannelView& view, int threads, double* work)
      : view_(view), parts_(view.elements() < kSmallLoop ? 1 : threads), work_(work) {}

  /// `finish(channels, first, second)` takes the sums of f and g, one per channel of the range,
  /// padding included; then y[i] = value(i, channel).
  template <class F, class G, class Finish, class Value>
  void run(const F& f, const G& g, const Finish& finish, const ChannelOutput& y,
           const Value& value) const {
    Range all{0, view_.positions()};
    if (apart()) {
      for_rows(parts_, parts_, view_.elements(), [&](std::int64_t part) {
        for_groups(part_of(view_.blocks, part, parts_), [&](Range blocks) {
          sum(blocks, part, all, f, g);
          finish(channels(blocks), sums(part), sums(part) + lanes(blocks));
          write(blocks, all, y, value);
        });
      });
      return;
    }
    for (std::int64_t block = 0; block < view_.blocks; ++block) {
      Range one{block, block + 1};
      together([&](std::int64_t part, Range share) { sum(one, part, share, f, g); });
      for (int part = 1; part < parts_; ++part) add(sums(part), sums(0));
      finish(channels(one), sums(0), sums(0) + view_.lanes);
      together([&](std::int64_t, Range share) { write(one, share, y, value); });
    }
  }

 private:
  /// Returns whether each thread gets its own blocks. Not if threads would be idle, or if a block
  /// is so large that only the caches of all threads together hold it.
  bool apart() const {
    constexpr std::int64_t kLargeBlock = 1 << 18;
    std::int64_t rounds = (view_.blocks + parts_ - 1) / parts_;
    bool busy = 8 * rounds * parts_ <= 9 * view_.blocks;
    return parts_ == 1 || (busy && view_.positions() * view_.lanes <= kLargeBlock);
  }

  /// Small blocks go together: their runs are neighbours, and memory likes long ones.
  template <class F>
  void for_groups(Range blocks, const F& f) const {
    constexpr std::int64_t kGroup = 1 << 19;
    std::int64_t most = std::max<std::int64_t>(1, kGroup / (view_.positions() * view_.lanes));
    for (std::int64_t at = blocks.begin; at < blocks.end; at += most)
      f(Range{at, std::min(at + most, blocks.end)});
  }

  template <class F>
  void together(const F& f) const {
    for_rows(parts_, parts_, kSmallLoop,
             [&](std::int64_t part) { f(part, part_of(view_.positions(), part, parts_)); });
  }

  template <class F, class G>
  void sum(Range blocks, std::int64_t part, Range positions, const F& f, const G& g) const {
    double *first = sums(part), *second = first + lanes(blocks);
    std::fill_n(first, 2 * lanes(blocks), 0.0);
    for_runs(view_, blocks, positions, [&](const ChannelRun& run) {
      std::int64_t at = run.channel - blocks.begin * view_.lanes;
      sum_run(run, view_.lanes, f, g, first + at, second + at);
    });
  }

  /// Backwards, because the elements read last are still in a near cache.
  template <class Value>
  void write(Range blocks, Range positions, const ChannelOutput& y, const Value& value) const {
    for_runs_backwards(view_, blocks, positions,
                       [&](const ChannelRun& run) { y.write(run, view_.lanes, value); });
    y.end();
  }

  void add(const double* from, double* to) const {
    run_range(0, 2 * view_.lanes, [=](std::int64_t i) { to[i] += from[i]; });
  }
  std::int64_t lanes(Range blocks) const { return blocks.extent() * view_.lanes; }
  Range channels(Range blocks) const {
    return {blocks.begin * view_.lanes, blocks.end * view_.lanes};
  }
  double* sums(std::int64_t part) const { return work_ + part * 2 * view_.padded(); }

  ChannelView view_;
  int parts_;
  double* work_;
};

}  // namespace troika
