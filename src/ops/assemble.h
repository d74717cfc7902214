// Assembles y from boxes of its inputs: the region that a tile needs, from what several devices
// hold of it, partial sums included. Inserted by lowering.
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

struct Assemble {
  static constexpr std::string_view kName = "assemble";
  std::vector<std::int64_t> shape{};  ///< Shape of y.
  /// Per input two lists with one number per dimension: begin of its box in y, extents. The begin
  /// in the input is the position of a launch, so that equal cuts of a tensor share one kernel.
  std::vector<std::int64_t> boxes{};
  bool greatest = false;  ///< Overlapping boxes combine by maximum instead of sum.

  static void fields(auto& self, auto&& visit) {
    visit("shape", self.shape);
    visit("boxes", self.boxes);
    visit("greatest", self.greatest);
  }
  bool operator==(const Assemble&) const = default;
};

/// Returns the box of each input, as a region of y.
std::vector<Region> boxes_of(const Assemble& op);
void add_box(Assemble& op, const Region& to);

/// One copy or combination, in the order of the inputs. Elements of y that no earlier input has
/// written are copied, the others are combined. Elements that no input writes are zero.
struct AssembleStep {
  std::size_t input = 0;
  Region from;  ///< Counted from the begin of the box in the input.
  Region to;
  bool combines = false;
};
struct AssemblePlan {
  std::vector<AssembleStep> steps;
  bool clears = false;  ///< No input covers some elements, so y is zeroed first.
};
AssemblePlan plan_of(const Assemble& op);

/// One input per box, of y's rank and element type.
Signature signature(const Assemble& op, std::span<const TensorSpec> inputs);
/// The begin of the box in each input, one number per dimension, in the order of the inputs. The
/// operator does not know it: zeros.
std::vector<std::int64_t> tile_position(const Assemble& op, const Signature& signature,
                                        const Region& tile);

/// Whether the boxes of a launch at `position` lie inside the inputs.
bool contain_boxes(std::span<const TensorSpec> inputs, const Assemble& op,
                   std::span<const std::int64_t> position);
/// Returns where the box of an input begins in it, in elements. `shape` is that of the input.
std::int64_t box_offset(std::size_t input, const Shape& shape,
                        std::span<const std::int64_t> position);

}  // namespace troika
