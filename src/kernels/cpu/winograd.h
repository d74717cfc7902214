// The two Winograd kernels: one computes an image from another, one the gradient of the weight.
#pragma once

#include <optional>

#include "kernels/cpu/winograd_plan.h"

namespace troika {

/// Computes the output of a convolution or, with flipped weights, the gradient of its image.
struct WinogradForward {
  WinogradPlan plan;
  BlockedWeights weights;
  std::size_t from_at, weight_at, to_at;  ///< Operands.
  std::optional<std::size_t> bias_at;
  std::function<void(std::span<float>)> activation;  ///< May be empty.

  /// Chooses the groups of tiles and channels.
  void divide();
  Bytes scratch() const;
  void operator()(const Launch& launch) const;

 private:
  /// If there are few tiles, the weights are the larger factor: a thread then transforms the
  /// weights of one panel, uses them for all tiles and discards them. Otherwise it does so with the
  /// tiles of a tile block.
  bool by_panels() const { return plan.tiles() < plan.to.blocks * plan.lanes(); }
  std::int64_t shared_floats() const;
  std::int64_t thread_floats() const;
  WinogradTail tail(const Launch& launch) const;
  void run_tile_blocks(const Launch& launch) const;
  void run_panels(const Launch& launch) const;
  void compute(const Launch& launch, std::int64_t tile_block, std::int64_t panel,
               const float* tiles, const float* transformed, float* products) const;
};

/// Computes the gradient of the weight.
struct WinogradWeight {
  /// How the threads of a launch share the work.
  enum class Sharing {
    parts,  ///< Tiles need less memory than sums: all tiles are transformed first, then each thread
            ///< finishes parts of the weight.
    tiles,  ///< Few weights: each thread has its own sums, which are added at the end.
    steps,  ///< Otherwise: one set of sums, and a barrier after each tile block.
  };

  WinogradPlan plan;
  std::size_t image_at, output_at, weight_at;  ///< Operands.
  Sharing sharing = Sharing::steps;

  /// Chooses the sharing and the groups of tiles and channels.
  void divide();
  Bytes scratch() const;
  void operator()(const Launch& launch) const;

 private:
  /// The weights from a few blocks of the image's channels to one panel.
  struct Part {
    Range from_blocks;
    std::int64_t panel;
  };
  /// Scratch of one tile block.
  struct Work {
    float *image, *output, *sums;
  };
  std::int64_t groups() const;
  std::int64_t parts() const { return plan.panels() * groups(); }
  Part part(std::int64_t index) const;
  /// Floats between neighbouring points of a part's sums.
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
