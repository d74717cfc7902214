#include "collective/algorithms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "collective/member_moves.h"

namespace troika {
namespace {

using Reason = std::optional<std::string>;

Reason never(const CollectiveCall&) { return std::nullopt; }

Reason needs_power_of_two(const CollectiveCall& call) {
  if (is_power_of_two(call.members)) return std::nullopt;
  return fmt::format("{} members are not a power of two", call.members);
}

/// For algorithms that combine as a tree if the number of members is a power of two.
Reason tree_order_needs_power_of_two(const CollectiveCall& call) {
  if (call.order == CombineOrder::any || is_power_of_two(call.members)) return std::nullopt;
  return fmt::format("the fixed order needs a power of two members and there are {}", call.members);
}

/// The sum of two is the same in any order.
Reason any_order_only(const CollectiveCall& call) {
  if (call.order == CombineOrder::any || call.members <= 2) return std::nullopt;
  return "it does not combine in the fixed order";
}

Reason needs_shared_memory(const CollectiveCall& call) {
  for (int member = 1; member < call.members; ++member) {
    if (link_between(call, 0, member) != LinkKind::process)
      return fmt::format("members 0 and {} share no memory", member);
  }
  return any_order_only(call);
}

/// With one group or groups of one there is only one level.
Reason needs_two_levels(const CollectiveCall& call) {
  std::size_t groups = inner_groups(call).size();
  if (groups == 1) return "all members are in one process";
  if (groups == static_cast<std::size_t>(call.members)) return "no two members are on one node";
  return any_order_only(call);
}

using enum Collective;

// Grouped by kind.
constexpr std::array kAlgorithms{
    Algorithm{"direct", all_reduce, needs_shared_memory, direct_all_reduce, true},
    Algorithm{"direct_streamed", all_reduce, needs_shared_memory, direct_streamed_all_reduce, true,
              true},
    Algorithm{"recursive_doubling", all_reduce, tree_order_needs_power_of_two,
              recursive_doubling_all_reduce},
    Algorithm{"rabenseifner", all_reduce, tree_order_needs_power_of_two, rabenseifner_all_reduce},
    Algorithm{"ring", all_reduce, any_order_only, ring_all_reduce},
    Algorithm{"hierarchical", all_reduce, needs_two_levels, hierarchical_all_reduce},
    Algorithm{"tree", all_reduce, tree_order_needs_power_of_two, tree_all_reduce},
    Algorithm{"recursive_halving", reduce_scatter, needs_power_of_two,
              recursive_halving_reduce_scatter},
    Algorithm{"pairwise", reduce_scatter, tree_order_needs_power_of_two, pairwise_reduce_scatter},
    Algorithm{"ring", reduce_scatter, any_order_only, ring_reduce_scatter},
    Algorithm{"recursive_doubling", all_gather, needs_power_of_two, recursive_doubling_all_gather},
    Algorithm{"ring", all_gather, never, ring_all_gather},
    Algorithm{"bruck", all_gather, never, bruck_all_gather},
    Algorithm{"tree", broadcast, never, tree_broadcast},
    Algorithm{"scatter_all_gather", broadcast, never, scatter_all_gather_broadcast},
    Algorithm{"tree", reduce, tree_order_needs_power_of_two, tree_reduce},
    Algorithm{"rabenseifner", reduce, tree_order_needs_power_of_two, rabenseifner_reduce},
    Algorithm{"pairwise", all_to_all, never, pairwise_all_to_all},
    Algorithm{"bruck", all_to_all, never, bruck_all_to_all},
    Algorithm{"tree", gather, never, tree_gather},
    Algorithm{"linear", gather, never, linear_gather},
    Algorithm{"tree", scatter, never, tree_scatter},
    Algorithm{"linear", scatter, never, linear_scatter},
    Algorithm{"dissemination", barrier, never, dissemination_barrier},
};
static_assert(std::ranges::is_sorted(kAlgorithms, {}, &Algorithm::kind));

}  // namespace

std::span<const Algorithm> algorithms() { return kAlgorithms; }

std::span<const Algorithm> algorithms(Collective kind) {
  return {std::ranges::lower_bound(kAlgorithms, kind, {}, &Algorithm::kind),
          std::ranges::upper_bound(kAlgorithms, kind, {}, &Algorithm::kind)};
}

const Algorithm& find_algorithm(Collective kind, std::string_view name) {
  std::string names;
  for (const Algorithm& algorithm : algorithms(kind)) {
    if (algorithm.name == name) return algorithm;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", algorithm.name);
  }
  throw Error(ErrorKind::usage, fmt::format("there is no {} algorithm '{}'; there are {}",
                                            to_string(kind), name, names));
}

MemberMoves make_moves(const CollectiveCall& call, std::string_view name, int member) {
  check_call(call);
  const Algorithm& algorithm = find_algorithm(call.kind, name);
  if (Reason reason = algorithm.why_not(call))
    throw Error(ErrorKind::usage, fmt::format("the {} algorithm '{}' cannot be used: {}",
                                              to_string(call.kind), name, *reason));
  return algorithm.moves(call, member);
}

MemberRecipe make_member_recipe(const CollectiveCall& call, std::string_view algorithm,
                                int member) {
  return {call, std::string(algorithm), member, make_moves(call, algorithm, member)};
}

bool combines_on_the_way(const CollectiveCall& call, std::string_view algorithm) {
  bool combines = call.kind == all_reduce || call.kind == reduce || call.kind == reduce_scatter;
  return combines && call.members > 1 && call.count > 0 &&
         !find_algorithm(call.kind, algorithm).combines_at_once;
}

Recipe make_recipe(const CollectiveCall& call, std::string_view algorithm) {
  Recipe recipe{.call = call, .algorithm = std::string(algorithm)};
  for (int member = 0; member < call.members; ++member)
    recipe.members.push_back(make_moves(call, algorithm, member));
  return recipe;
}

}  // namespace troika
