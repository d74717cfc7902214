// Overlap-save: neighbouring tiles of `from` overlap by the window less 1. A product of spectra is
// a cyclic correlation; its first height() x width() elements do not wrap around and are kept.
#include <omp.h>

#include <cstring>

#include "kernels/cpu/fft.h"

namespace troika {

Range inside(std::int64_t begin, std::int64_t length, std::int64_t extent) {
  Range range{std::max<std::int64_t>(0, -begin), std::min(length, extent - begin)};
  return range.empty() ? Range{} : range;
}

std::int64_t FftForward::turned_floats() const {
  return weights.to_last ? 0 : plan.window[0] * plan.window[1] * plan.lanes() * plan.lanes();
}

Bytes FftForward::scratch() const {
  return Bytes{(plan.spectra_floats() + plan.threads * thread_floats()) *
               static_cast<std::int64_t>(sizeof(float))};
}

FftForward::Work FftForward::work(const Launch& launch, int thread) const {
  Work work{.weights = launch.work()};
  work.from = work.weights + plan.weight_spectra().floats();
  work.to = work.from + plan.from_spectra().floats();
  work.tile = launch.work() + plan.spectra_floats() + thread * thread_floats();
  work.turned = work.tile + plan.tile_floats();
  return work;
}

// One of the two outer loops runs once (FftPlan::panels, groups), so every spectrum is computed
// once. The loop over weights has no barrier: it and transform_group write different spectra, and
// the barrier before the products waits for both.
void FftForward::operator()(const Launch& launch) const {
#pragma omp parallel num_threads(launch.threads)
  {
    const Work own = work(launch, omp_get_thread_num());
    for (std::int64_t panel = 0; panel < plan.panels(); ++panel) {
      const Range blocks = plan.blocks_of(panel);
#pragma omp for schedule(static) collapse(2) nowait
      for (std::int64_t to = blocks.begin; to < blocks.end; ++to)
        for (std::int64_t from = 0; from < plan.from.blocks; ++from)
          transform_weights(launch.at(weight_at), to, from, own);
      for (std::int64_t group = 0; group < plan.groups(); ++group) {
        const Range tiles = plan.tiles_of(group);
        if (panel == 0) transform_group(launch.at(from_at), tiles, own);
#pragma omp barrier
#pragma omp for schedule(static)
        for (std::int64_t point = 0; point < plan.points(); ++point)
          multiply_point(point, tiles.extent(), blocks.extent(), own);
#pragma omp for schedule(static) collapse(2)
        for (std::int64_t tile = tiles.begin; tile < tiles.end; ++tile)
          for (std::int64_t block = blocks.begin; block < blocks.end; ++block)
            finish(launch, tile, tile - tiles.begin, block, own);
      }
    }
  }
}

void FftForward::transform_group(const float* images, Range tiles, const Work& work) const {
#pragma omp for schedule(static) collapse(2) nowait
  for (std::int64_t tile = tiles.begin; tile < tiles.end; ++tile)
    for (std::int64_t block = 0; block < plan.from.blocks; ++block)
      transform_from(plan, images, tile, tile - tiles.begin, block, work.from, work.tile);
}

void transform_from(const FftPlan& plan, const float* images, std::int64_t tile, std::int64_t row,
                    std::int64_t block, float* spectra, float* work) {
  const Spectra to = plan.from_spectra();
  const TileOrigin origin = plan.origin(tile);
  const std::int64_t y = origin.y - plan.pad[0], x = origin.x - plan.pad[1], lanes = plan.lanes();
  // The view begins outside of the image if the tile does; only elements inside are read.
  const std::int64_t first =
      plan.from.offset(origin.sample, block) + (y * plan.from.width + x) * lanes;
  transform_tile({.side = plan.side,
                  .lanes = plan.lanes(),
                  .spectrum = spectra + to.offset(row, block),
                  .point = to.point(),
                  .work = work},
                 {.first = const_cast<float*>(images) + first,
                  .row = plan.from.width * lanes,
                  .column = lanes,
                  .rows = inside(y, plan.side, plan.from.height),
                  .columns = inside(x, plan.side, plan.from.width)});
}

void FftForward::transform_weights(const float* stored, std::int64_t to_block,
                                   std::int64_t from_block, const Work& work) const {
  const Spectra spectra = plan.weight_spectra();
  const std::int64_t lanes = plan.lanes(), square = lanes * lanes,
                     elements = plan.window[0] * plan.window[1];
  const float* block = stored + to_block * weights.to_stride + from_block * weights.from_stride;
  if (!weights.to_last) {
    // A tile has the channels of `to` as lanes, but here the blocks end with those of `from`.
    for (std::int64_t at = 0; at < elements; ++at)
      for (std::int64_t i = 0; i < lanes; ++i)
        for (std::int64_t j = 0; j < lanes; ++j)
          work.turned[at * square + i * lanes + j] = block[at * square + j * lanes + i];
    block = work.turned;
  }
  // A flipped window begins at its last element and has negative strides; nothing is copied.
  const std::int64_t step = weights.flipped ? -square : square;
  if (weights.flipped) block += (elements - 1) * square;
  // One tile per channel of `from`. `to_block % plan.panel` is the block's place in its panel.
  for (std::int64_t lane = 0; lane < lanes; ++lane)
    transform_tile({.side = plan.side,
                    .lanes = plan.lanes(),
                    .spectrum = work.weights +
                                spectra.offset(from_block * lanes + lane, to_block % plan.panel),
                    .point = spectra.point(),
                    .work = work.tile},
                   {.first = const_cast<float*>(block) + lane * lanes,
                    .row = plan.window[1] * step,
                    .column = step,
                    .rows = {0, plan.window[0]},
                    .columns = {0, plan.window[1]}});
}

void FftForward::multiply_point(std::int64_t point, std::int64_t tiles, std::int64_t blocks,
                                const Work& work) const {
  // The depth ends with the last channel: the padding of its block would only add zeros.
  multiply({.rows = tiles,
            .depth = plan.from.channels,
            .blocks = blocks,
            .a_spectra = plan.from_spectra(),
            .b_spectra = plan.weight_spectra(),
            .c_spectra = plan.to_spectra(),
            .a = work.from,
            .b = work.weights,
            .c = work.to},
           point);
}

void FftForward::finish(const Launch& launch, std::int64_t tile, std::int64_t row,
                        std::int64_t block, const Work& work) const {
  const Spectra spectra = plan.to_spectra();
  const TileOrigin origin = plan.origin(tile);
  const std::int64_t lanes = plan.lanes(),
                     channels = std::min(lanes, plan.to.channels - block * lanes);
  float bias[16] = {};  // restore_tile reads a whole vector, also of the last, partial block
  if (bias_at)
    std::memcpy(bias, launch.at(*bias_at) + block * lanes,
                static_cast<std::size_t>(channels) * sizeof(float));
  const TileView view{.first = launch.at(to_at) + plan.to.offset(origin.sample, block) +
                               (origin.y * plan.to.width + origin.x) * lanes,
                      .row = plan.to.width * lanes,
                      .column = lanes,
                      .rows = inside(origin.y, plan.height(), plan.to.height),
                      .columns = inside(origin.x, plan.width(), plan.to.width)};
  restore_tile({.side = plan.side,
                .lanes = plan.lanes(),
                .spectrum = work.to + spectra.offset(row, block % plan.panel),
                .point = spectra.point(),
                .work = work.tile},
               view, product_scale(plan.side), bias);
  // An activation of 0 may not be 0, so the padding of the last block is cleared again.
  if (!activation) return;
  for (std::int64_t y = 0; y < view.rows.end; ++y) {
    std::span<float> line(view.first + y * view.row,
                          static_cast<std::size_t>(view.columns.end * lanes));
    activation(line);
    for (std::size_t at = 0; channels < lanes && at < line.size();
         at += static_cast<std::size_t>(lanes))
      std::fill_n(line.begin() + static_cast<std::ptrdiff_t>(at) + channels, lanes - channels,
                  0.0f);
  }
}

}  // namespace troika
