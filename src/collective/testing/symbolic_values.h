// What each element of each member holds after a recipe has run, as symbols instead of numbers:
// whose contributions, each how often, and whether they were combined as a tree.
#pragma once

#include <optional>
#include <string>

#include "collective/testing/move_order.h"

namespace troika {

/// Why the recipe, whose events may run in this order, does not do what its call asks for.
std::optional<std::string> find_wrong_value(const Recipe& recipe, const MovePairs& pairs,
                                            const EventOrder& order);

}  // namespace troika
