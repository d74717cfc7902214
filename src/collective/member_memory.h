// The memory that a member's part in a collective takes beside the vector it works on, for as long
// as it stays prepared. Follows from the recipe, so plans can count it.
#pragma once

#include <functional>

#include "base/units.h"
#include "collective/combine_rule.h"
#include "collective/recipe.h"
#include "tensor/dtype.h"

namespace troika {

struct MemberMemory {
  DType dtype = DType::f32;  ///< What the moves work in.
  bool widens = false;       ///< On a copy in f32 of a 16-bit vector.
  Bytes wide{};              ///< That copy.
  Bytes scratch{};
  Bytes landings{};  ///< Where arrives what will be combined and cannot be read where it is.

  Bytes total() const { return wide + scratch + landings; }
};

/// Where what a peer sends needs a landing to be combined from: its memory is not shared.
using NeedsLanding = std::function<bool(int peer)>;

struct MemberElements {
  DType dtype = DType::f32;
  CombineRule rule = CombineRule::sum;
};

MemberMemory memory_of_member(const MemberRecipe& recipe, const MemberElements& elements,
                              const NeedsLanding& needs_landing);
/// By what the call says of its members' processes.
MemberMemory memory_of_member(const MemberRecipe& recipe, const MemberElements& elements);

}  // namespace troika
