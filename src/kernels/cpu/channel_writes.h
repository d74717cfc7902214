// Loops that write tensors with channels, element by element with the channel known.
#pragma once

#include <algorithm>

#include "kernels/cpu/channel_view.h"
#include "kernels/cpu/streaming.h"

namespace troika {

/// y[i] = f(first + i, channel of i) for rows of lanes; Lanes is their number, or 0 if it is not a
/// constant.
template <int Lanes, class F>
TROIKA_VECTORIZED void write_lanes(const ChannelRun& run, std::int64_t known, float* y,
                                   const F& f) {
  F local = f;
  std::int64_t lanes = Lanes > 0 ? Lanes : known;
  std::int64_t rows = run.rows, element = run.element, channel = run.channel;
  for (std::int64_t row = 0; row < rows; ++row) {
#pragma omp simd
    for (std::int64_t lane = 0; lane < lanes; ++lane)
      y[row * lanes + lane] = local(element + row * lanes + lane, channel + lane);
  }
}

/// As above with one lane: the elements of a run are contiguous.
template <class F>
TROIKA_VECTORIZED void write_plane(const ChannelRun& run, float* y, const F& f) {
  F local = f;
  std::int64_t rows = run.rows, element = run.element, channel = run.channel;
#pragma omp simd
  for (std::int64_t i = 0; i < rows; ++i) y[i] = local(element + i, channel);
}

template <class F>
void write_run(const ChannelRun& run, std::int64_t lanes, float* y, const F& f) {
  if (lanes == 1)
    write_plane(run, y, f);
  else if (lanes == 16)
    write_lanes<16>(run, lanes, y, f);
  else if (lanes == 8)
    write_lanes<8>(run, lanes, y, f);
  else
    write_lanes<0>(run, lanes, y, f);
}

template <class F>
void stream_run(const ChannelRun& run, std::int64_t lanes, float* y, const F& f) {
  if (lanes == 1)
    return stream_range(0, run.rows, y,
                        [=](std::int64_t i) { return f(run.element + i, run.channel); });
  stream_rows(y, run.rows, lanes, [=](std::int64_t row, std::int64_t lane) {
    return f(run.element + row * lanes + lane, run.channel + lane);
  });
}

/// The output of a loop over elements with channels.
struct ChannelOutput {
  float* y;
  bool streamed;

  ChannelOutput(const ChannelView& view, float* to, bool in_place)
      : y(to),
        streamed(!in_place && view.elements() >= kStreamed && stores_whole_lines() &&
                 (view.lanes == 1 || (view.lanes % kLineFloats == 0 && at_line(to)))) {}

  template <class F>
  void write(const ChannelRun& run, std::int64_t lanes, const F& f) const {
    streamed ? stream_run(run, lanes, y + run.element, f)
             : write_run(run, lanes, y + run.element, f);
  }
  void end() const {
    if (streamed) stream_end();
  }
};

/// y[i] = f(i, channel) for every element, including padding, so values per channel that f reads
/// must be padded.
template <class F>
void for_channels(int threads, const ChannelView& view, const ChannelOutput& out, const F& f) {
  int parts = view.elements() < kSmallLoop ? 1 : threads;
  for_shares(
      parts, view.outer * view.blocks * view.inner, 16, [&](std::int64_t begin, std::int64_t end) {
        for_runs(view, {begin, end}, [&](const ChannelRun& run) { out.write(run, view.lanes, f); });
        out.end();
      });
}

/// One number per channel, padded with zeros like the layout; copied to `work` only if it pads.
inline const float* pad_channels(const ChannelView& view, const float* values, float* work) {
  if (view.padded() == view.channels) return values;
  std::fill(std::copy_n(values, view.channels, work), work + view.padded(), 0.0f);
  return work;
}

}  // namespace troika
