// The sums over all tiles at each point, Gt[...]G of which is the weight's gradient. Three ways to
// share the work trade the memory of sums against barriers (WinogradWeight::Sharing).
#include <omp.h>

#include "kernels/cpu/loops.h"
#include "kernels/cpu/winograd.h"

namespace troika {
namespace {

/// Floats of the sums of all threads (32 MiB) that the last-level cache is likely to hold.
constexpr std::int64_t kSumsFloats = (32 << 20) / 4;
/// Tiles of a block. Sums are loaded and stored once per block, whose tiles should stay in the
/// cache.
constexpr std::int64_t kGradientTileBlock = 64;
/// Blocks of the image's channels in a part: its sums stay in the second-level cache.
constexpr std::int64_t kGroup = 4;
/// Tiles that a thread transforms at a time.
constexpr std::int64_t kTilesAtOnce = 8;

}  // namespace

void WinogradWeight::divide() {
  plan.panel_width = std::min<std::int64_t>(plan.to.blocks, widest_panel(plan.lanes()));
  plan.tile_block = std::min(plan.tiles(), kGradientTileBlock);
  sharing = Sharing::steps;
  std::int64_t from = plan.from.blocks * plan.lanes(), to = plan.to.blocks * plan.lanes();
  // Floats at each point: of all transformed tiles, against one set of sums for every thread.
  bool few_tiles = plan.tiles() * (from + to) <= plan.threads * from * to;
  // Parts are handed out dynamically; with two and more per thread the shares are about equal.
  if (few_tiles && parts() >= 2 * plan.threads) {
    sharing = Sharing::parts;
    plan.tile_block = plan.tiles();
  } else if (plan.threads * parts() * sums_floats() <= kSumsFloats) {
    sharing = Sharing::tiles;
  } else {
    // Every tile block ends with a barrier, so a larger team gets larger blocks.
    plan.tile_block = std::min(plan.tiles(), kGradientTileBlock * std::min(plan.threads, 8));
  }
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
  std::int64_t floats = all_floats();
  if (sharing == Sharing::parts) floats = tile_floats() + plan.threads * sums_floats();
  if (sharing == Sharing::tiles) floats = plan.threads * all_floats();
  return Bytes{floats * static_cast<std::int64_t>(sizeof(float))};
}

void WinogradWeight::operator()(const Launch& launch) const {
  switch (sharing) {
    case Sharing::parts:
      return run_parts(launch);
    case Sharing::tiles:
      return run_tiles(launch);
    case Sharing::steps:
      return run_steps(launch);
  }
}

// All three ways add up the tiles of a part in the same order within a tile block; only the blocks
// differ, so results agree up to rounding.
void WinogradWeight::run_parts(const Launch& launch) const {
  Range all{0, plan.tiles()};
#pragma omp parallel num_threads(launch.threads)
  {
    Work shared = work(launch.work()), own = shared;
    own.sums += omp_get_thread_num() * sums_floats();
    // One tile block holds all tiles, so the first products of a part are also its last: they are
    // stored, not added, and the scratch for sums need not be cleared.
#pragma omp for schedule(static)
    for (std::int64_t tile = 0; tile < all.end; tile += kTilesAtOnce)
      transform(launch, 0, {tile, std::min(all.end, tile + kTilesAtOnce)}, shared);
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t at = 0; at < parts(); ++at) {
      for (std::int64_t point = 0; point < plan.points(); ++point)
        add_products(all, false, part(at), point, own);
      finish(launch, part(at), own.sums);
    }
  }
}

void WinogradWeight::run_tiles(const Launch& launch) const {
#pragma omp parallel for schedule(static, 1) num_threads(launch.threads)
  for (int share = 0; share < launch.threads; ++share) {
    Work own = work(launch.work() + share * all_floats());
    Range blocks = part_of(plan.tile_blocks(), share, launch.threads);
    // The first tile block overwrites the sums. A thread without tiles has none, but the sums of
    // all threads are added up below.
    if (blocks.empty()) std::fill_n(own.sums, parts() * sums_floats(), 0.0f);
    for (std::int64_t block = blocks.begin; block < blocks.end; ++block) {
      transform(launch, block, plan.tiles_of(block), own);
      for (std::int64_t at = 0; at < parts(); ++at) {
        Work of_part{own.image, own.output, own.sums + at * sums_floats()};
        for (std::int64_t point = 0; point < plan.points(); ++point)
          add_products(plan.tiles_of(block), block > blocks.begin, part(at), point, of_part);
      }
    }
  }
  // Threads' sums are added in the order of threads, so the result does not depend on timing.
#pragma omp parallel for schedule(static) num_threads(launch.threads)
  for (std::int64_t at = 0; at < parts(); ++at) {
    float* sums = work(launch.work()).sums + at * sums_floats();
    for (int share = 1; share < launch.threads; ++share) {
      const float* more = sums + share * all_floats();
      run_range(0, sums_floats(), [=](std::int64_t i) { sums[i] += more[i]; });
    }
    finish(launch, part(at), sums);
  }
}

void WinogradWeight::run_steps(const Launch& launch) const {
  Work shared = work(launch.work());
#pragma omp parallel num_threads(launch.threads)
  {
    for (std::int64_t block = 0; block < plan.tile_blocks(); ++block) {
      Range tiles = plan.tiles_of(block);
#pragma omp for schedule(static)
      for (std::int64_t tile = tiles.begin; tile < tiles.end; tile += kTilesAtOnce)
        transform(launch, block, {tile, std::min(tiles.end, tile + kTilesAtOnce)}, shared);
#pragma omp for schedule(dynamic, 1) collapse(2)
      // Each pair of part and point has its own sums, and a barrier separates tile blocks: sums are
      // added in the same order whichever thread gets the pair.
      for (std::int64_t at = 0; at < parts(); ++at) {
        for (std::int64_t point = 0; point < plan.points(); ++point)
          add_products(tiles, block > 0, part(at), point,
                       {shared.image, shared.output, shared.sums + at * sums_floats()});
      }
    }
#pragma omp for schedule(static)
    for (std::int64_t at = 0; at < parts(); ++at)
      finish(launch, part(at), shared.sums + at * sums_floats());
  }
}

void WinogradWeight::transform(const Launch& launch, std::int64_t tile_block, Range tiles,
                               const Work& work) const {
  // Offset of the first tile inside its tile block. Both results have one vector per tile and
  // block of channels, but in `output` the blocks of a panel lie side by side.
  std::int64_t at = (tiles.begin - plan.tiles_of(tile_block).begin) * plan.lanes();
  transform_image(plan, launch.at(image_at), tiles, work.image + at);
  for (std::int64_t panel = 0; panel < plan.panels(); ++panel)
    transform_output(
        plan, launch.at(output_at), tiles, panel,
        work.output + panel * plan.product_floats() + at * plan.blocks_of(panel).extent());
}

void WinogradWeight::add_products(Range tiles, bool adds, const Part& part, std::int64_t point,
                                  const Work& work) const {
  std::int64_t width = plan.blocks_of(part.panel).extent(),
               block_floats = plan.tile_block * plan.lanes();
  // The depth is the tiles. Rows are the lanes of one block of the image's channels, hence one
  // product per block.
  for (std::int64_t from = part.from_blocks.begin; from < part.from_blocks.end; ++from) {
    std::int64_t row = (from - part.from_blocks.begin) * plan.lanes();
    multiply(
        {.lanes = plan.lanes(),
         .width = static_cast<int>(width),
         .turned = true,
         .adds = adds,
         .count = 1,
         .rows = plan.lanes(),
         .depth = tiles.extent(),
         .a = work.image + point * plan.image_point() + from * block_floats,
         .b = work.output + part.panel * plan.product_floats() + point * plan.product_point(width),
         .c = work.sums + point * sums_point() + row * width * plan.lanes()});
  }
}

void WinogradWeight::finish(const Launch& launch, const Part& part, const float* sums) const {
  finish_weights(
      plan,
      {.first = sums, .point = sums_point(), .from_blocks = part.from_blocks, .panel = part.panel},
      launch.at(weight_at));
}

}  // namespace troika
