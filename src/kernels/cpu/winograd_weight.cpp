#include "kernels/cpu/winograd_weight.h"

#include <omp.h>

#include "kernels/cpu/winograd_product.h"

namespace troika {
namespace {

/// So many tiles are kept whole; of more, each thread gets this many between two meetings of the
/// team: the sums are loaded and stored once per tile block.
constexpr std::int64_t kFewTiles = 160, kTilesPerThread = 32;
/// Blocks of the image's channels in a part: its sums stay in the second-level cache.
constexpr std::int64_t kGroup = 4;
/// Tiles that a thread transforms before it takes the next.
constexpr std::int64_t kTilesAtOnce = 8;

}  // namespace

void WinogradWeight::divide() {
  plan.panel_width = std::min<std::int64_t>(plan.to.blocks, widest_panel(plan.lanes()));
  plan.tile_block = plan.tiles();
  if (plan.tiles() > kFewTiles)
    plan.tile_block = std::clamp<std::int64_t>(kTilesPerThread * plan.threads, 64, 512);
}

std::int64_t WinogradWeight::groups() const { return (plan.from.blocks + kGroup - 1) / kGroup; }

WinogradWeight::Part WinogradWeight::part(std::int64_t index) const {
  std::int64_t group = index % groups() * kGroup;
  return {{group, std::min(plan.from.blocks, group + kGroup)}, index / groups()};
}

std::int64_t WinogradWeight::sums_point() const {
  std::int64_t rows = std::min(plan.from.blocks, kGroup) * plan.lanes();
  return (rows * plan.panel_width + 1) * plan.lanes();
}

Bytes WinogradWeight::scratch() const {
  std::int64_t sets = at_once() ? plan.threads : parts();
  return Bytes{
      (plan.image_floats() + plan.panels() * plan.product_floats() + sets * sums_floats()) *
      static_cast<std::int64_t>(sizeof(float))};
}

void WinogradWeight::operator()(const Launch& launch) const {
#pragma omp parallel num_threads(launch.threads)
  if (at_once())
    run_parts(launch);
  else
    run_blocks(launch);
}

void WinogradWeight::run_blocks(const Launch& launch) const {
  for (std::int64_t block = 0; block < plan.tile_blocks(); ++block) {
    transform(launch, block);
#pragma omp for schedule(dynamic, 1) collapse(2)
    for (std::int64_t at = 0; at < parts(); ++at) {
      for (std::int64_t point = 0; point < plan.points(); ++point)
        add_products(launch, block, part(at), point, sums(launch) + at * sums_floats());
    }
  }
#pragma omp for schedule(static)
  for (std::int64_t at = 0; at < parts(); ++at)
    finish(launch, part(at), sums(launch) + at * sums_floats());
}

void WinogradWeight::run_parts(const Launch& launch) const {
  transform(launch, 0);
  float* own = sums(launch) + omp_get_thread_num() * sums_floats();
#pragma omp for schedule(dynamic, 1)
  for (std::int64_t at = 0; at < parts(); ++at) {
    for (std::int64_t point = 0; point < plan.points(); ++point)
      add_products(launch, 0, part(at), point, own);
    finish(launch, part(at), own);
  }
}

void WinogradWeight::transform(const Launch& launch, std::int64_t tile_block) const {
  Range range = plan.tiles_of(tile_block);
#pragma omp for schedule(static)
  for (std::int64_t tile = range.begin; tile < range.end; tile += kTilesAtOnce) {
    Range some{tile, std::min(range.end, tile + kTilesAtOnce)};
    std::int64_t at = (tile - range.begin) * plan.lanes();
    transform_image(plan, launch.at(image_at), some, image_tiles(launch) + at);
    for (std::int64_t panel = 0; panel < plan.panels(); ++panel)
      transform_places(plan, launch.at(places_at), some, panel,
                       places_tiles(launch) + panel * plan.product_floats() +
                           at * plan.blocks_of(panel).extent());
  }
}

void WinogradWeight::add_products(const Launch& launch, std::int64_t tile_block, const Part& part,
                                  std::int64_t point, float* sums) const {
  std::int64_t width = plan.blocks_of(part.panel).extent(),
               block_floats = plan.tile_block * plan.lanes();
  for (std::int64_t from = part.from_blocks.begin; from < part.from_blocks.end; ++from) {
    std::int64_t row = (from - part.from_blocks.begin) * plan.lanes();
    multiply({.lanes = plan.lanes(),
              .width = static_cast<int>(width),
              .turned = true,
              .adds = tile_block > 0,
              .count = 1,
              .rows = plan.lanes(),
              .depth = plan.tiles_of(tile_block).extent(),
              .a = image_tiles(launch) + point * plan.image_point() + from * block_floats,
              .b = places_tiles(launch) + part.panel * plan.product_floats() +
                   point * plan.product_point(width),
              .c = sums + point * sums_point() + row * width * plan.lanes()});
  }
}

void WinogradWeight::finish(const Launch& launch, const Part& part, const float* sums) const {
  finish_weights(
      plan,
      {.first = sums, .point = sums_point(), .from_blocks = part.from_blocks, .panel = part.panel},
      launch.at(weight_at));
}

}  // namespace troika
