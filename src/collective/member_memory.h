// The memory that a member's prepared operation takes in addition to its vector. It follows from
// the recipe, so plans can count it.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "collective/combine_rule.h"
#include "collective/recipe.h"
#include "tensor/dtype.h"

namespace troika {

struct MemberMemory {
  DType dtype = DType::f32;  ///< Type in which the moves work.
  bool widens = false;       ///< The moves work on an f32 copy of a 16-bit vector.
  Bytes wide{};              ///< Size of that copy.
  Bytes scratch{};
  Bytes receive_buffers{};  ///< For messages that are combined on arrival, if memory is not shared.

  Bytes total() const { return wide + scratch + receive_buffers; }
};

/// Returns true if messages of this peer need a receive buffer: its memory is not shared.
using NeedsReceiveBuffer = std::function<bool(int peer)>;

struct MemberElements {
  DType dtype = DType::f32;
  CombineRule rule = CombineRule::sum;
};

MemberMemory memory_of_member(const MemberRecipe& recipe, const MemberElements& elements,
                              const NeedsReceiveBuffer& needs_receive_buffer);
/// The same; members share memory if the call lists them in one process.
MemberMemory memory_of_member(const MemberRecipe& recipe, const MemberElements& elements);

/// Returns the total of each member. Follows a formula per algorithm (memory_rules.cpp) instead of
/// the moves, so that a call of n members costs n log n; an algorithm without one costs its moves.
std::vector<Bytes> memory_of_members(const CollectiveCall& call, std::string_view algorithm,
                                     const MemberElements& elements);

}  // namespace troika
