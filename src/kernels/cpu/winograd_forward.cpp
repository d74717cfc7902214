// Transforms, one product of matrices per point, and the transform back, tile block by tile block.
// Scratch holds what threads share, then for each thread its products and the transformed factor
// that it discards (by_panels()).
#include <omp.h>

#include "kernels/cpu/winograd.h"

namespace troika {
namespace {

/// Tiles that a thread transforms and multiplies together. A multiple of all numbers of rows that
/// are multiplied at once. With fewer tiles loading the weights dominates; more showed no gain.
constexpr std::int64_t kTileBlock = 24;

}  // namespace

void WinogradForward::divide() {
  plan.panel_width = std::min<std::int64_t>(plan.to.blocks, widest_panel(plan.lanes()));
  // Narrower panels, so that every thread gets one.
  if (by_panels())
    while (plan.panel_width > 1 && plan.panels() < plan.threads) --plan.panel_width;
  // At most the share of one thread, so that all threads work if there are few tiles.
  std::int64_t share = (plan.tiles() + plan.threads - 1) / plan.threads;
  plan.tile_block = std::clamp<std::int64_t>(share, 1, kTileBlock);
}

std::int64_t WinogradForward::shared_floats() const {
  return by_panels() ? plan.tile_blocks() * plan.image_floats()
                     : plan.panels() * plan.weight_floats();
}

std::int64_t WinogradForward::thread_floats() const {
  return plan.product_floats() + (by_panels() ? plan.weight_floats() : plan.image_floats());
}

Bytes WinogradForward::scratch() const {
  return Bytes{(shared_floats() + plan.threads * thread_floats()) *
               static_cast<std::int64_t>(sizeof(float))};
}

WinogradTail WinogradForward::tail(const Launch& launch) const {
  return {.bias = bias_at ? launch.at(*bias_at) : nullptr,
          .activation = activation ? &activation : nullptr,
          .channels = plan.to.channels};
}

void WinogradForward::operator()(const Launch& launch) const {
  return by_panels() ? run_panels(launch) : run_tile_blocks(launch);
}

// Weights are transformed once and shared. Tile blocks are handed out dynamically, because tiles at
// the border of an image take longer than inner ones.
void WinogradForward::run_tile_blocks(const Launch& launch) const {
  float *transformed = launch.work(), *own = transformed + shared_floats();
  const float *image = launch.at(from_at), *stored = launch.at(weight_at);
#pragma omp parallel num_threads(launch.threads)
  {
    // The barrier at the end of this loop completes the weights before anyone multiplies by them.
#pragma omp for schedule(static) collapse(2)
    for (std::int64_t panel = 0; panel < plan.panels(); ++panel) {
      for (std::int64_t block = 0; block < plan.from.blocks; ++block)
        transform_weights(plan, weights, stored, panel, block,
                          transformed + panel * plan.weight_floats());
    }
    float* products = own + omp_get_thread_num() * thread_floats();
    float* tiles = products + plan.product_floats();
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t block = 0; block < plan.tile_blocks(); ++block) {
      transform_image(plan, image, plan.tiles_of(block), tiles);
      for (std::int64_t panel = 0; panel < plan.panels(); ++panel)
        compute(launch, block, panel, tiles, transformed + panel * plan.weight_floats(), products);
    }
  }
}

// All tiles are transformed first and shared. A panel's weights are used by one thread only, while
// they are in its cache.
void WinogradForward::run_panels(const Launch& launch) const {
  float *tiles = launch.work(), *own = tiles + shared_floats();
  const float *image = launch.at(from_at), *stored = launch.at(weight_at);
#pragma omp parallel num_threads(launch.threads)
  {
#pragma omp for schedule(static)
    for (std::int64_t block = 0; block < plan.tile_blocks(); ++block)
      transform_image(plan, image, plan.tiles_of(block), tiles + block * plan.image_floats());
    float* products = own + omp_get_thread_num() * thread_floats();
    float* transformed = products + plan.product_floats();
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t panel = 0; panel < plan.panels(); ++panel) {
      for (std::int64_t block = 0; block < plan.from.blocks; ++block)
        transform_weights(plan, weights, stored, panel, block, transformed);
      for (std::int64_t block = 0; block < plan.tile_blocks(); ++block)
        compute(launch, block, panel, tiles + block * plan.image_floats(), transformed, products);
    }
  }
}

void WinogradForward::compute(const Launch& launch, std::int64_t tile_block, std::int64_t panel,
                              const float* tiles, const float* transformed, float* products) const {
  Range range = plan.tiles_of(tile_block);
  std::int64_t width = plan.blocks_of(panel).extent(), depth = plan.from.blocks * plan.lanes();
  // The last panel may be narrower. Its weights and products are then stored without gaps, so the
  // distances between points follow from `width` and not from plan.panel_width.
  multiply({.lanes = plan.lanes(),
            .width = static_cast<int>(width),
            .count = plan.points(),
            .rows = range.extent(),
            .depth = depth,
            .a = tiles,
            .a_block = plan.tile_block * plan.lanes(),
            .a_next = plan.image_point(),
            .b = transformed,
            .b_next = depth * width * plan.lanes(),
            .c = products,
            .c_next = plan.product_point(width)});
  finish_output(plan, tail(launch), products, range, panel, launch.at(to_at));
}

}  // namespace troika
