// Sums over a block of channels and then the block's elements, written from them: the second pass
// finds in a cache what the first has read.
#pragma once

#include "kernels/cpu/channel_loops.h"

namespace troika {

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
  /// Each thread has blocks of its own, unless that would leave threads idle, or a block is so
  /// large that only the caches of all threads together hold it.
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

  /// Backwards, for what was read last is nearest.
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
