// How a 3x3 convolution is cut into Winograd's tiles, how tiles and channels are grouped so that
// the working set stays in the caches, and the steps that a kernel is made of: transforms of tiles
// and weights, and products of transformed ones.
//
// A convolution is `to` = `from` * weight. A tile has `outputs` x `outputs` elements of `to` and
// side x side of `from`. The transforms turn both factors into side x side points, at each of which
// the convolution is a product of matrices: tiles x channels by channels x channels.
#pragma once

#include <functional>
#include <span>

#include "kernels/cpu/convolution.h"

namespace troika {

struct WinogradPlan {
  std::int64_t samples;
  BlockedImages from;  ///< Read by the 3x3 windows.
  BlockedImages to;    ///< One element per window. The weight's gradient reads it too.
  std::array<std::int64_t, 2> pad;
  int outputs;  ///< Elements of `to` along each side of a tile: 4 or 2.
  int threads;

  int lanes() const { return static_cast<int>(from.lanes); }
  int side() const { return outputs + 2; }
  std::int64_t points() const { return side() * side(); }
  std::int64_t tile_rows() const { return (to.height + outputs - 1) / outputs; }
  std::int64_t tile_columns() const { return (to.width + outputs - 1) / outputs; }
  std::int64_t tiles() const { return samples * tile_rows() * tile_columns(); }
  /// A tile's elements of `from` begin `pad` before those of `to`.
  TileOrigin origin(std::int64_t tile) const {
    return {tile / (tile_rows() * tile_columns()), tile / tile_columns() % tile_rows() * outputs,
            tile % tile_columns() * outputs};
  }

  std::int64_t tile_blocks() const { return (tiles() + tile_block - 1) / tile_block; }
  Range tiles_of(std::int64_t block) const {
    return {block * tile_block, std::min(tiles(), (block + 1) * tile_block)};
  }
  /// A panel is a few blocks of channels of `to`, computed together.
  std::int64_t panels() const { return (to.blocks + panel_width - 1) / panel_width; }
  Range blocks_of(std::int64_t panel) const {
    return {panel * panel_width, std::min(to.blocks, (panel + 1) * panel_width)};
  }

  /// Floats of the transformed image of one tile block, [point][block][tile][lane]. One vector is
  /// left out between points, so that the points of a tile do not share one cache set.
  std::int64_t image_point() const { return (from.blocks * tile_block + 1) * lanes(); }
  std::int64_t image_floats() const { return points() * image_point(); }
  /// Floats of one panel of transformed weights, [point][channel of from][lanes of the panel].
  std::int64_t weight_floats() const {
    return points() * from.blocks * lanes() * panel_width * lanes();
  }
  /// Floats of the products of one tile block and panel, [point][tile][lanes of the panel].
  std::int64_t product_point(std::int64_t width) const {
    return (tile_block * width + 1) * lanes();
  }
  std::int64_t product_floats() const { return points() * product_point(panel_width); }

  std::int64_t tile_block = 1, panel_width = 1;
};

/// Applied to the output before it is stored.
struct WinogradTail {
  const float* bias = nullptr;  ///< One number per channel, or null.
  const std::function<void(std::span<float>)>* activation = nullptr;
  std::int64_t channels = 0;  ///< Lanes of padding after the last channel stay zero.
};

/// Transforms the image's tiles of one tile block; see WinogradPlan::image_floats.
void transform_image(const WinogradPlan& plan, const float* image, Range tiles, float* to);
/// Transforms the weights from all channels of one block of `from` to those of the panel.
void transform_weights(const WinogradPlan& plan, const BlockedWeights& weights, const float* stored,
                       std::int64_t panel, std::int64_t from_block, float* to);
/// Transforms the products of one tile block and panel back and stores them as output.
void finish_output(const WinogradPlan& plan, const WinogradTail& tail, const float* products,
                   Range tiles, std::int64_t panel, float* output);

/// For the weight's gradient: transforms the tiles of the output's gradient that belong to one
/// panel, [point][tile][lanes of the panel].
void transform_output(const WinogradPlan& plan, const float* output, Range tiles,
                      std::int64_t panel, float* to);
/// Sums over all tiles, from a few blocks of channels to a panel, [point][channel][lanes of the
/// panel].
struct WinogradSums {
  const float* first;
  std::int64_t point;  ///< Floats between neighbouring points.
  Range from_blocks;
  std::int64_t panel;
};
/// Transforms the sums back and stores them as their part of the weight's gradient, with the lanes
/// of `to` last.
void finish_weights(const WinogradPlan& plan, const WinogradSums& sums, float* stored);

/// c = a * b or c += a * b on one thread, for each of `count` points. Columns of b and c are
/// `width` vectors of `lanes`, and their rows are contiguous. The layout of a depends on `turned`:
///   - false: the depth comes in blocks of one vector, a[block][row][lane];
///   - true: the rows are the lanes of one vector, a[depth][row].
struct PointProducts {
  int lanes, width;
  bool turned = false;
  bool adds = false;
  std::int64_t count, rows, depth;
  const float* a;
  std::int64_t a_block;  ///< Floats between neighbouring blocks; not used if turned.
  std::int64_t a_next;   ///< Floats between neighbouring points, as b_next and c_next are.
  const float* b;
  std::int64_t b_next;
  float* c;
  std::int64_t c_next;
};
void multiply(const PointProducts& products);

/// The widest panel for which the registers also hold enough rows to hide the latency of sums.
constexpr int widest_panel(int lanes) { return lanes == 16 ? 4 : 3; }

}  // namespace troika
