// The Winograd kernel that computes one image from another: the places of a convolution, or, with
// flipped weights, the gradient of its image.
#pragma once

#include <optional>

#include "kernels/cpu/offer.h"
#include "kernels/cpu/winograd_tiles.h"

namespace troika {

struct WinogradForward {
  WinogradPlan plan;
  WinogradWeights weights;
  std::size_t from_at, weight_at, to_at;  ///< Operands.
  std::optional<std::size_t> bias_at;
  std::function<void(std::span<float>)> activation;  ///< May be empty.
  std::int64_t channels;                             ///< Of what is computed.

  /// Chooses the groups of tiles and channels.
  void divide();
  Bytes scratch() const;
  void operator()(const Launch& launch) const;

 private:
  /// With few tiles the weights are the larger part: then a thread transforms those of a panel,
  /// uses them for all tiles and forgets them; else it does so with the tiles of a tile block.
  bool by_panels() const { return plan.tiles() < plan.to.blocks * plan.lanes(); }
  std::int64_t shared_floats() const;
  std::int64_t thread_floats() const;
  WinogradTail tail(const Launch& launch) const;
  void run_tile_blocks(const Launch& launch) const;
  void run_panels(const Launch& launch) const;
  void compute(const Launch& launch, std::int64_t tile_block, std::int64_t panel,
               const float* tiles, const float* transformed, float* products) const;
};

}  // namespace troika
