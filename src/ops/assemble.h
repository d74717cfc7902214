// Assembles y from boxes of its inputs: the region that a tile needs, from what several devices
// hold of it, partial sums included. Inserted by lowering.
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

struct Assemble {
  static constexpr std::string_view kName = "assemble";
  std::vector<std::int64_t> shape{};  ///< Shape of y.
  /// Per input three lists with one number per dimension: begin of the box in the input, begin in
  /// y, extents.
  std::vector<std::int64_t> boxes{};
  bool greatest = false;  ///< Overlapping boxes combine by maximum instead of sum.

  static void fields(auto& self, auto&& visit) {
    visit("shape", self.shape);
    visit("boxes", self.boxes);
    visit("greatest", self.greatest);
  }
  bool operator==(const Assemble&) const = default;
};

/// The same box in an input and in y.
struct BoxPair {
  Region from, to;
};

/// Returns one pair per input.
std::vector<BoxPair> boxes_of(const Assemble& op);
void add_box(Assemble& op, const BoxPair& box);

/// One copy or combination, in the order of the inputs. Elements of y that no earlier input has
/// written are copied, the others are combined. Elements that no input writes are zero.
struct AssembleStep {
  std::size_t input = 0;
  BoxPair box;
  bool combines = false;
};
struct AssemblePlan {
  std::vector<AssembleStep> steps;
  bool clears = false;  ///< No input covers some elements, so y is zeroed first.
};
AssemblePlan plan_of(const Assemble& op);

/// One input per box, of y's rank and element type.
Signature signature(const Assemble& op, std::span<const TensorSpec> inputs);

}  // namespace troika
