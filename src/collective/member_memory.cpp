#include "collective/member_memory.h"

#include "collective/algorithms.h"

namespace troika {
namespace {

bool is_sum(CombineRule rule) { return rule == CombineRule::sum || rule == CombineRule::mean; }

}  // namespace

MemberMemory memory_of_member(const MemberRecipe& recipe, const MemberElements& elements,
                              const NeedsReceiveBuffer& needs_receive_buffer) {
  MemberMemory memory{.dtype = elements.dtype};
  // Partial sums of 16-bit elements would be rounded in every step; a minimum or maximum is exact.
  memory.widens = size_of(elements.dtype).count == 2 && is_sum(elements.rule) &&
                  combines_on_the_way(recipe.call, recipe.algorithm);
  if (memory.widens) memory.dtype = DType::f32;
  Bytes element = size_of(memory.dtype);
  if (memory.widens) memory.wide = element * recipe.call.count;
  memory.scratch = element * recipe.moves.scratch;
  for (const Move& move : recipe.moves.moves)
    // One buffer per message, so that all of them may arrive before they are combined.
    if (move.kind == MoveKind::receive_reduce && needs_receive_buffer(move.peer))
      memory.receive_buffers += element * move.to.elements.extent();
  return memory;
}

MemberMemory memory_of_member(const MemberRecipe& recipe, const MemberElements& elements) {
  return memory_of_member(recipe, elements, [&](int peer) {
    return link_between(recipe.call, recipe.member, peer) != LinkKind::process;
  });
}

}  // namespace troika
