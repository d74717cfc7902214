// The list of all collective algorithms. A new one is a source, a line here, and its phases
// (collective/phases.h).
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
  /// Returns why the algorithm does not support the call, or nothing if it does.
  std::optional<std::string> (*why_not)(const CollectiveCall& call);
  MemberMoves (*moves)(const CollectiveCall& call, int member);
  /// One member combines all contributions to an element in one move, so that it is rounded once.
  bool combines_at_once = false;
  /// Its cost formula equals another algorithm's, so it is chosen only if it was measured faster.
  bool needs_measuring = false;
};

/// All algorithms, or those of one kind, in the order of the list.
std::span<const Algorithm> algorithms();
std::span<const Algorithm> algorithms(Collective kind);

/// Throws Error(usage) that lists the known names.
const Algorithm& find_algorithm(Collective kind, std::string_view name);

/// Returns the moves of one member. Throws Error(usage) if the algorithm does not support the call.
MemberMoves make_moves(const CollectiveCall& call, std::string_view algorithm, int member);
MemberRecipe make_member_recipe(const CollectiveCall& call, std::string_view algorithm, int member);
/// Returns true if partial results are combined again by another member.
bool combines_on_the_way(const CollectiveCall& call, std::string_view algorithm);
/// Returns the moves of all members.
Recipe make_recipe(const CollectiveCall& call, std::string_view algorithm);

}  // namespace troika
