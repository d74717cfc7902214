// For tests: what operator new was asked for, counted in allocations_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace troika::data {

struct Allocations {
  std::int64_t count = 0;
  std::size_t largest = 0;
  std::int64_t peak = 0;  ///< Most bytes in use at one time, beyond those at the last reset.
};

/// Since the last reset, over all threads.
Allocations allocations();
void reset_allocations();

}  // namespace troika::data
