// How a 3x3 convolution falls into Winograd's tiles, and how tiles and channels are grouped so that
// what is worked on stays in the cache.
#pragma once

#include <algorithm>
#include <array>

#include "tensor/region.h"

namespace troika {

/// One tensor in n,C,h,w,c with `lanes` channels together.
struct BlockedImages {
  std::int64_t blocks, height, width, lanes;

  std::int64_t plane() const { return height * width * lanes; }
  std::int64_t offset(std::int64_t sample, std::int64_t block) const {
    return (sample * blocks + block) * plane();
  }
};

struct WinogradPlan {
  std::int64_t samples;
  BlockedImages from;  ///< What the 3x3 windows read.
  BlockedImages to;    ///< One element per window; of the weight's gradient, what is read as well.
  std::array<std::int64_t, 2> pad;
  int outputs;  ///< Of a tile, along each side.
  int threads;

  int lanes() const { return static_cast<int>(from.lanes); }
  int side() const { return outputs + 2; }
  std::int64_t points() const { return side() * side(); }
  std::int64_t tile_rows() const { return (to.height + outputs - 1) / outputs; }
  std::int64_t tile_columns() const { return (to.width + outputs - 1) / outputs; }
  std::int64_t tiles() const { return samples * tile_rows() * tile_columns(); }

  std::int64_t tile_blocks() const { return (tiles() + tile_block - 1) / tile_block; }
  Range tiles_of(std::int64_t block) const {
    return {block * tile_block, std::min(tiles(), (block + 1) * tile_block)};
  }
  /// A panel is a few blocks of channels of `to`, computed together.
  std::int64_t panels() const { return (to.blocks + panel_width - 1) / panel_width; }
  Range blocks_of(std::int64_t panel) const {
    return {panel * panel_width, std::min(to.blocks, (panel + 1) * panel_width)};
  }

  /// Floats of the image's tiles of one tile block, [point][block][tile][lane]; from point to point
  /// one vector is left out, so that the points of a tile do not fall on the same cache set.
  std::int64_t image_point() const { return (from.blocks * tile_block + 1) * lanes(); }
  std::int64_t image_floats() const { return points() * image_point(); }
  /// Of one panel of weights, [point][channel of from][lanes of the panel].
  std::int64_t weight_floats() const {
    return points() * from.blocks * lanes() * panel_width * lanes();
  }
  /// Of the products of one tile block and panel, [point][tile][lanes of the panel].
  std::int64_t product_point(std::int64_t width) const {
    return (tile_block * width + 1) * lanes();
  }
  std::int64_t product_floats() const { return points() * product_point(panel_width); }

  std::int64_t tile_block = 1, panel_width = 1;
};

/// Where a tile lies; its elements of `from` begin `pad` before those of `to`.
struct TilePlace {
  TilePlace(const WinogradPlan& plan, std::int64_t tile)
      : sample(tile / (plan.tile_rows() * plan.tile_columns())),
        y(tile / plan.tile_columns() % plan.tile_rows() * plan.outputs),
        x(tile % plan.tile_columns() * plan.outputs) {}

  std::int64_t sample, y, x;
};

}  // namespace troika
