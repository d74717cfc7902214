#include "collective/member_memory.h"

#include <algorithm>

namespace troika {
namespace {

bool is_sum(CombineRule rule) { return rule == CombineRule::sum || rule == CombineRule::mean; }

}  // namespace

bool combines_on_the_way(const Recipe& recipe) {
  auto combines = [](const Move& move) {
    return move.kind == MoveKind::reduce || move.kind == MoveKind::receive_reduce;
  };
  return std::ranges::any_of(recipe.members, [&](const MemberMoves& member) {
    return std::ranges::any_of(member.moves, combines);
  });
}

MemberMemory memory_of_member(const Recipe& recipe, int member, const MemberElements& elements,
                              const NeedsLanding& needs_landing) {
  const MemberMoves& own = recipe.members[static_cast<std::size_t>(member)];
  MemberMemory memory{.dtype = elements.dtype};
  memory.widens =
      size_of(elements.dtype).count == 2 && is_sum(elements.rule) && combines_on_the_way(recipe);
  if (memory.widens) memory.dtype = DType::f32;
  Bytes element = size_of(memory.dtype);
  if (memory.widens) memory.wide = element * recipe.call.count;
  memory.scratch = element * own.scratch;
  for (const Move& move : own.moves)
    if (move.kind == MoveKind::receive_reduce && needs_landing(move.peer))
      memory.landings += element * move.to.elements.extent();
  return memory;
}

MemberMemory memory_of_member(const Recipe& recipe, int member, const MemberElements& elements) {
  return memory_of_member(recipe, member, elements, [&](int peer) {
    return link_between(recipe.call, member, peer) != LinkKind::process;
  });
}

}  // namespace troika
