// For tests: what operator new was asked for, counted in allocations_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace troika::data {

struct Allocations {
  std::int64_t count = 0;
  std::size_t largest = 0;
};

/// Since the last reset, over all threads.
Allocations allocations();
void reset_allocations();

}  // namespace troika::data
