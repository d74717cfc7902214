// The Winograd kernel that computes the gradient of a convolution's weight.
#pragma once

#include "kernels/cpu/offer.h"
#include "kernels/cpu/winograd_tiles.h"

namespace troika {

struct WinogradWeight {
  /// What the threads of a launch divide among them.
  enum class Sharing {
    parts,  ///< Tiles take less room than sums: all are transformed, then each thread finishes
            ///< parts of the weight.
    tiles,  ///< Few weights: each thread has sums of its own, which are added in the end.
    steps,  ///< Else: after each tile block the team meets, and there is one set of sums.
  };

  WinogradPlan plan;
  std::size_t image_at, places_at, weight_at;  ///< Operands.
  Sharing sharing = Sharing::steps;

  /// Chooses the sharing and the groups of tiles and channels.
  void divide();
  Bytes scratch() const;
  void operator()(const Launch& launch) const;

 private:
  /// What a few blocks of the image's channels give to one panel.
  struct Part {
    Range from_blocks;
    std::int64_t panel;
  };
  /// Where one tile block is worked on.
  struct Work {
    float *image, *places, *sums;
  };
  std::int64_t groups() const;
  std::int64_t parts() const { return plan.panels() * groups(); }
  Part part(std::int64_t index) const;
  /// From point to point of a part's sums.
  std::int64_t sums_point() const;
  std::int64_t sums_floats() const { return plan.points() * sums_point(); }
  std::int64_t tile_floats() const {
    return plan.image_floats() + plan.panels() * plan.product_floats();
  }
  std::int64_t all_floats() const { return tile_floats() + parts() * sums_floats(); }
  Work work(float* first) const {
    return {first, first + plan.image_floats(), first + tile_floats()};
  }

  void run_parts(const Launch& launch) const;
  void run_tiles(const Launch& launch) const;
  void run_steps(const Launch& launch) const;

  void transform(const Launch& launch, std::int64_t tile_block, Range tiles,
                 const Work& work) const;
  void add_products(Range tiles, bool adds, const Part& part, std::int64_t point,
                    const Work& work) const;
  void finish(const Launch& launch, const Part& part, const float* sums) const;
};

}  // namespace troika
