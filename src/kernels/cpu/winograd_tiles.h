// Winograd's transforms of tiles and weights between tensors as they are stored and the products'
// operands.
#pragma once

#include <functional>
#include <span>

#include "kernels/cpu/winograd_plan.h"

namespace troika {

/// What is done to the places before they are stored.
struct WinogradTail {
  const float* bias = nullptr;  ///< One per channel, or none.
  const std::function<void(std::span<float>)>* activation = nullptr;
  std::int64_t channels = 0;  ///< Lanes behind them stay zero.
};

/// How the kernel's weight lies: [to][from] or [from][to] blocks of 3 x 3 x lanes x lanes.
struct WinogradWeights {
  std::int64_t to_stride, from_stride;  ///< From block to block, in elements.
  bool to_last;                         ///< The last dimension is the lanes of `to`.
  bool flipped;                         ///< Read from the last element of the window to the first.
};

/// The image's tiles of one tile block; see WinogradPlan::image_floats.
void transform_image(const WinogradPlan& plan, const float* image, Range tiles, float* to);
/// The weights of all channels of one block of `from` into the panel's.
void transform_weights(const WinogradPlan& plan, const WinogradWeights& weights,
                       const float* stored, std::int64_t panel, std::int64_t from_block, float* to);
/// The products of one tile block and panel become places.
void finish_places(const WinogradPlan& plan, const WinogradTail& tail, const float* products,
                   Range tiles, std::int64_t panel, float* places);

/// For the weight's gradient: the tiles of the places' gradient that belong to one panel,
/// [point][tile][lanes of the panel].
void transform_places(const WinogradPlan& plan, const float* places, Range tiles,
                      std::int64_t panel, float* to);

/// The sums over all tiles from a few blocks of channels to a panel, [point][channel][lanes of the
/// panel], become their part of the weight's gradient, with the lanes of `to` last.
struct WinogradSums {
  const float* first;
  std::int64_t point;  ///< From one point to the next.
  Range from_blocks;
  std::int64_t panel;
};
void finish_weights(const WinogradPlan& plan, const WinogradSums& sums, float* stored);

}  // namespace troika
