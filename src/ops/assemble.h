// y put together from boxes of its inputs: a tile's region out of what several devices had of it,
// partial sums among them. Made by lowering.
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

struct Assemble {
  static constexpr std::string_view kName = "assemble";
  std::vector<std::int64_t> shape{};  ///< Of y.
  /// For each input in turn, with one number per dimension: where its box begins in the input,
  /// where it begins in y, and its extents.
  std::vector<std::int64_t> boxes{};
  bool greatest = false;  ///< Where boxes overlap the greatest counts, else the sum.

  static void fields(auto& self, auto&& visit) {
    visit("shape", self.shape);
    visit("boxes", self.boxes);
    visit("greatest", self.greatest);
  }
  bool operator==(const Assemble&) const = default;
};

/// The same box in an input and in y.
struct PlacedBox {
  Region from, to;
};

/// One per input.
std::vector<PlacedBox> boxes_of(const Assemble& op);
void add_box(Assemble& op, const PlacedBox& box);

/// What is done for one input, in the order of the inputs: elements of y that no input before has
/// written are copied, the others combined. What no input writes is zero.
struct AssembleStep {
  std::size_t input = 0;
  PlacedBox box;
  bool combines = false;
};
struct AssemblePlan {
  std::vector<AssembleStep> steps;
  bool clears = false;  ///< Something stays uncovered.
};
AssemblePlan plan_of(const Assemble& op);

/// One input per box, of y's rank and element type.
Signature signature(const Assemble& op, std::span<const TensorSpec> inputs);

}  // namespace troika
