// Proves on paper that a recipe does what its call asks for, in whatever order its moves may run:
// - every move stays inside its memory and comes after earlier ones only;
// - each send has its receive of the same length, each lend its borrow and give_back;
// - no deadlock, even where a send ends only when its receiver has taken all;
// - no two moves that may run at the same time touch the same elements, unless both only read;
// - every element ends with the right contributions, each once, in the order asked for.
#pragma once

#include <optional>
#include <string>

#include "collective/recipe.h"

namespace troika {

/// The first fault, as a sentence that names member and move or element; nothing for a sound
/// recipe. Takes time in proportion to the elements moved: meant for counts up to some thousands.
std::optional<std::string> find_fault(const Recipe& recipe);

}  // namespace troika
