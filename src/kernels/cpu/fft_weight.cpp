// Scratch: the sums of a panel, the spectra of the image and of the output's gradient, which
// threads share, then one tile per thread.
#include <omp.h>

#include "kernels/cpu/fft.h"

namespace troika {

Bytes FftWeight::scratch() const {
  return Bytes{(plan.spectra_floats() + plan.threads * plan.tile_floats()) *
               static_cast<std::int64_t>(sizeof(float))};
}

FftWeight::Work FftWeight::work(const Launch& launch, int thread) const {
  Work work{.sums = launch.work()};
  work.image = work.sums + plan.weight_spectra().floats();
  work.output = work.image + plan.from_spectra().floats();
  work.tile = launch.work() + plan.spectra_floats() + thread * plan.tile_floats();
  return work;
}

// The gradient is a correlation of the image with the output's gradient: a product of their
// spectra, summed over all tiles. Each point belongs to one thread, so the sums need no reduction
// and do not depend on the number of threads.
void FftWeight::operator()(const Launch& launch) const {
#pragma omp parallel num_threads(launch.threads)
  {
    const Work own = work(launch, omp_get_thread_num());
    for (std::int64_t panel = 0; panel < plan.panels(); ++panel) {
      const Range blocks = plan.blocks_of(panel);
      // The first group overwrites the sums of the panel, later ones add to them.
      for (std::int64_t group = 0; group < plan.groups(); ++group) {
        const Range tiles = plan.tiles_of(group);
        if (panel == 0) transform_group(launch.at(image_at), tiles, own);
#pragma omp for schedule(static) collapse(2)
        for (std::int64_t tile = tiles.begin; tile < tiles.end; ++tile)
          for (std::int64_t block = blocks.begin; block < blocks.end; ++block)
            transform_output(launch.at(output_at), tile, tile - tiles.begin, block, own);
#pragma omp for schedule(static)
        for (std::int64_t point = 0; point < plan.points(); ++point)
          add_products(
              point, {.adds = group > 0, .depth = tiles.extent(), .blocks = blocks.extent()}, own);
      }
#pragma omp for schedule(static) collapse(2)
      for (std::int64_t to = blocks.begin; to < blocks.end; ++to)
        for (std::int64_t from = 0; from < plan.from.blocks; ++from)
          finish(launch.at(weight_at), to, from, own);
    }
  }
}

void FftWeight::transform_group(const float* image, Range tiles, const Work& work) const {
#pragma omp for schedule(static) collapse(2) nowait
  for (std::int64_t tile = tiles.begin; tile < tiles.end; ++tile)
    for (std::int64_t block = 0; block < plan.from.blocks; ++block)
      transform_from(plan, image, tile, tile - tiles.begin, block, work.image, work.tile);
}

void FftWeight::transform_output(const float* output, std::int64_t tile, std::int64_t row,
                                 std::int64_t block, const Work& work) const {
  const Spectra to = plan.to_spectra();
  const TileOrigin origin = plan.origin(tile);
  const std::int64_t lanes = plan.lanes(), first = plan.to.offset(origin.sample, block) +
                                                   (origin.y * plan.to.width + origin.x) * lanes;
  // Only the elements that the tile yields, the rest is zero: neighbouring tiles share none of
  // them, and no product with an element of the image wraps around.
  transform_tile({.side = plan.side,
                  .lanes = plan.lanes(),
                  .spectrum = work.output + to.offset(row, block % plan.panel),
                  .point = to.point(),
                  .work = work.tile},
                 {.first = const_cast<float*>(output) + first,
                  .row = plan.to.width * lanes,
                  .column = lanes,
                  .rows = inside(origin.y, plan.height(), plan.to.height),
                  .columns = inside(origin.x, plan.width(), plan.to.width)});
}

void FftWeight::add_products(std::int64_t point, SpectrumProduct product, const Work& work) const {
  product.turned = true;  // the depth is the tiles, which are the rows of both spectra
  product.a_spectra = plan.from_spectra(), product.a = work.image;
  product.b_spectra = plan.to_spectra(), product.b = work.output;
  product.c_spectra = plan.weight_spectra(), product.c = work.sums;
  // Whole vectors: channels of padding are zero in the image and so in the sums.
  product.rows = product.c_spectra.rows;
  multiply(product, point);
}

void FftWeight::finish(float* weight, std::int64_t to_block, std::int64_t from_block,
                       const Work& work) const {
  const Spectra spectra = plan.weight_spectra();
  const std::int64_t lanes = plan.lanes(), square = lanes * lanes,
                     elements = plan.window[0] * plan.window[1];
  float* block = weight + (to_block * plan.from.blocks + from_block) * elements * square;
  for (std::int64_t lane = 0; lane < lanes; ++lane)
    restore_tile(
        {.side = plan.side,
         .lanes = plan.lanes(),
         .spectrum = work.sums + spectra.offset(from_block * lanes + lane, to_block % plan.panel),
         .point = spectra.point(),
         .work = work.tile},
        {.first = block + lane * lanes,
         .row = plan.window[1] * square,
         .column = square,
         .rows = {0, plan.window[0]},
         .columns = {0, plan.window[1]}},
        product_scale(plan.side), nullptr);
}

}  // namespace troika
