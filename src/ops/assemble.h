// Assembles y from boxes of its inputs: the region that a tile needs, from what several devices
// hold of it, partial sums included. Inserted by lowering.
#pragma once

#include <optional>
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
  /// The boxes come in layers: some do not overlap and make up y, the next ones do so again and are
  /// combined with them. Their begins in y belong to the position as well and not to `boxes`, so
  /// that devices that put equal parts together in another order share a kernel.
  bool layered = false;

  static void fields(auto& self, auto&& visit) {
    visit("shape", self.shape);
    visit("boxes", self.boxes);
    visit("greatest", self.greatest);
    visit("layered", self.layered);
  }
  bool operator==(const Assemble&) const = default;
};

/// Returns the box of each input, as a region of y. In layers it counts from its own begin.
std::vector<Region> boxes_of(const Assemble& op);
void add_box(Assemble& op, const Region& to);

/// Returns places without overlaps in a tensor of shape `whole` for boxes of these extents, in any
/// order. Nothing: a limited number of tries found none. Dimensions in which all boxes are whole,
/// and a unit by which a dimension is measured, make no difference.
std::optional<std::vector<Region>> place_boxes(const Shape& whole, std::span<const Shape> boxes);

/// One copy or combination, in the order of the inputs. Elements of y that no earlier input has
/// written are copied, the others are combined. Elements that no input writes are zero.
struct AssembleStep {
  std::size_t input = 0;
  Region from;  ///< Counted from the begin of the box in the input.
  Region to;    ///< In y; in layers counted from the begin of the box.
  bool combines = false;
};
struct AssemblePlan {
  std::vector<AssembleStep> steps;
  bool clears = false;  ///< No input covers some elements, so y is zeroed first.
};
AssemblePlan plan_of(const Assemble& op);

/// One input per box, of y's rank and element type.
Signature signature(const Assemble& op, std::span<const TensorSpec> inputs);
/// The begin of the box in each input, one number per dimension, in the order of the inputs. In
/// layers its begin in y stands behind it. The operator does not know them: zeros in inputs, and in
/// y those of place_boxes or, if there are none, zeros.
std::vector<std::int64_t> tile_position(const Assemble& op, const Signature& signature,
                                        const Region& tile);

/// Where the box of an input begins at a launch, one number per dimension.
struct BoxBegin {
  std::span<const std::int64_t> in_input;
  std::span<const std::int64_t> in_y;  ///< Empty unless there are layers.
};
BoxBegin begin_of(const Assemble& op, std::size_t input, std::span<const std::int64_t> position);
/// Returns where a box begins in a tensor, in elements. No begin: 0.
std::int64_t offset_of(std::span<const std::int64_t> begin, const Shape& shape);

/// Whether the boxes of a launch at `position` lie inside the inputs.
bool contain_boxes(std::span<const TensorSpec> inputs, const Assemble& op,
                   std::span<const std::int64_t> position);
/// Whether each layer makes up y at `position`, without overlaps.
bool make_up_y(const Assemble& op, std::span<const std::int64_t> position);

}  // namespace troika
