// What each element of each member holds after a recipe has run, as symbols instead of numbers:
// whose contributions, each how often, and whether they were combined as a tree.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collective/move_order.h"

namespace troika {

/// The combination of one element over some members.
struct Sum {
  std::vector<int> members;  ///< Sorted; twice in the list is twice in the sum.
  bool tree = true;          ///< Combined as CombineOrder::tree says.

  auto operator<=>(const Sum&) const = default;
};

/// Why the recipe, whose events may run in this order, does not do what its call asks for.
std::optional<std::string> find_wrong_value(const Recipe& recipe, const MovePairs& pairs,
                                            const EventOrder& order);

}  // namespace troika
