// The list of all collective algorithms. A new one is a file pair, a line here and a formula in
// cost/.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "collective/recipe.h"

namespace troika {

struct Algorithm {
  std::string_view name;
  Collective kind;
  /// Why it cannot do this call; nothing when it can.
  std::optional<std::string> (*why_not)(const CollectiveCall& call);
  MemberMoves (*moves)(const CollectiveCall& call, int member);
  /// Whoever combines an element takes all members' at once, so that it is rounded once.
  bool combines_at_once = false;
  /// Its formula does not tell it from another, so only a measured time speaks for it.
  bool needs_measuring = false;
};

/// All, and those of one kind, in the order of the list.
std::span<const Algorithm> algorithms();
std::span<const Algorithm> algorithms(Collective kind);

/// Throws Error(usage) that lists the names there are.
const Algorithm& find_algorithm(Collective kind, std::string_view name);

/// What one member does. Throws Error(usage) where the algorithm cannot do the call.
MemberMoves make_moves(const CollectiveCall& call, std::string_view algorithm, int member);
MemberRecipe make_member_recipe(const CollectiveCall& call, std::string_view algorithm, int member);
/// Whether some member combines what others will combine with more.
bool combines_on_the_way(const CollectiveCall& call, std::string_view algorithm);
/// What all do.
Recipe make_recipe(const CollectiveCall& call, std::string_view algorithm);

}  // namespace troika
