// Loops that write tensors with channels, element by element with the channel known.
#pragma once

#include <algorithm>

#include "kernels/cpu/channel_view.h"
#include "kernels/cpu/streaming.h"

namespace troika {

/// y[i] = f(first + i, channel of i) for rows of lanes; Lanes is their number, or 0 when it is not
/// known here.
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

/// The same where lanes is 1: a run is neighbours in memory.
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

/// Computed in pieces that stay in the nearest cache.
template <class F>
void stream_run(const ChannelRun& run, std::int64_t lanes, float* y, const F& f) {
  alignas(64) float chunk[kStreamChunk];
  std::int64_t most = kStreamChunk / lanes;
  for (std::int64_t row = 0; row < run.rows; row += most) {
    ChannelRun part{run.element + row * lanes, std::min(most, run.rows - row), run.channel};
    write_run(part, lanes, chunk, f);
    stream_copy(y + row * lanes, chunk, part.rows * lanes);
  }
}

/// Where elements with channels are written to.
struct ChannelOutput {
  float* y;
  bool streamed;

  ChannelOutput(const ChannelView& view, float* to, bool in_place)
      : y(to), streamed(!in_place && view.elements() >= kStreamed && view.lanes <= kStreamChunk) {}

  template <class F>
  void write(const ChannelRun& run, std::int64_t lanes, const F& f) const {
    streamed ? stream_run(run, lanes, y + run.element, f)
             : write_run(run, lanes, y + run.element, f);
  }
  void end() const {
    if (streamed) stream_end();
  }
};

/// y[i] = f(i, channel) for every element, padding included: what f reads per channel must be
/// padded.
template <class F>
void for_channels(int threads, const ChannelView& view, const ChannelOutput& out, const F& f) {
  int parts = view.elements() < kSmallLoop ? 1 : threads;
  for_shares(
      parts, view.outer * view.blocks * view.inner, 16, [&](std::int64_t begin, std::int64_t end) {
        for_runs(view, {begin, end}, [&](const ChannelRun& run) { out.write(run, view.lanes, f); });
        out.end();
      });
}

/// One number per channel, with zeros where the layout pads; copied to `work` only where it does.
inline const float* pad_channels(const ChannelView& view, const float* values, float* work) {
  if (view.padded() == view.channels) return values;
  std::fill(std::copy_n(values, view.channels, work), work + view.padded(), 0.0f);
  return work;
}

}  // namespace troika
