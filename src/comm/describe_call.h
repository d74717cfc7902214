// What a rank says that it is doing, so that others can compare.
#pragma once

#include <string>
#include <string_view>

#include "comm/communicator.h"

namespace troika {

/// All that must be equal on the members: "all_reduce of 1000 f32 (sum, ring, ...)".
std::string describe_call(const CollectiveCall& call, std::string_view algorithm,
                          const Communicator::Elements& elements);

}  // namespace troika
