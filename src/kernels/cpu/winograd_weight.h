// The Winograd kernel that computes the gradient of a convolution's weight.
#pragma once

#include "kernels/cpu/offer.h"
#include "kernels/cpu/winograd_tiles.h"

namespace troika {

/// The team works through the tile blocks one by one: all transform a share of the tiles, then
/// each multiplies a share of the points and channels. So there is one set of sums, and the same
/// bits for any number of threads.
struct WinogradWeight {
  WinogradPlan plan;
  std::size_t image_at, places_at, weight_at;  ///< Operands.

  /// Chooses the groups of tiles and channels.
  void divide();
  Bytes scratch() const;
  void operator()(const Launch& launch) const;

 private:
  /// A part is what a few blocks of the image's channels give to one panel.
  struct Part {
    Range from_blocks;
    std::int64_t panel;
  };
  std::int64_t groups() const;
  std::int64_t parts() const { return plan.panels() * groups(); }
  Part part(std::int64_t index) const;
  /// From point to point of a part's sums.
  std::int64_t sums_point() const;
  std::int64_t sums_floats() const { return plan.points() * sums_point(); }
  /// Whether a thread can finish a part at once and needs sums for one only.
  bool at_once() const { return plan.tile_blocks() == 1 && parts() >= 2 * plan.threads; }

  void transform(const Launch& launch, std::int64_t tile_block) const;
  void add_products(const Launch& launch, std::int64_t tile_block, const Part& part,
                    std::int64_t point, float* sums) const;
  void finish(const Launch& launch, const Part& part, const float* sums) const;
  void run_blocks(const Launch& launch) const;
  void run_parts(const Launch& launch) const;

  float* image_tiles(const Launch& launch) const { return launch.work(); }
  float* places_tiles(const Launch& launch) const { return launch.work() + plan.image_floats(); }
  float* sums(const Launch& launch) const {
    return places_tiles(launch) + plan.panels() * plan.product_floats();
  }
};

}  // namespace troika
