// For tests: tensors spread over devices at random, as programs spread them and otherwise.
#pragma once

#include "lower/testing/draws.h"
#include "lower/testing/redistribution_run.h"

namespace troika {

struct RandomRedistribution {
  bool fixed_order = false;
  bool greatest = false;
};

/// Up to three dimensions, up to 12 devices, several contributions, terms and readers.
RedistributionCase random_redistribution(std::uint64_t seed,
                                         const RandomRedistribution& options = {});

/// A tensor with these extents, all in the frame, and devices in one process.
RedistributionCase plain_redistribution(const std::vector<std::int32_t>& extents,
                                        std::int32_t devices);

/// The box with these bounds, one pair per dimension.
Box make_box(const std::vector<std::pair<std::int32_t, std::int32_t>>& bounds);

}  // namespace troika
