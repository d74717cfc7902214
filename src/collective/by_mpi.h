// MPI's own collectives: no recipe, but one more candidate where all members are ranks.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"
#include "collective/recipe.h"

namespace troika {

/// The name of the algorithm.
inline constexpr std::string_view kByMpi = "mpi";

/// Why MPI cannot do it alone, with elements of so many bytes; nothing when it can.
std::optional<std::string> why_not_by_mpi(const CollectiveCall& call, Bytes element);

}  // namespace troika
