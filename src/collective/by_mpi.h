// The collectives of the MPI library: not a recipe, but one more candidate if the members are all
// ranks.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"
#include "collective/recipe.h"

namespace troika {

/// The name of the algorithm.
inline constexpr std::string_view kByMpi = "mpi";

/// Returns why MPI's collective cannot be used for elements of this size, or nothing if it can.
std::optional<std::string> why_not_by_mpi(const CollectiveCall& call, Bytes element);

}  // namespace troika
