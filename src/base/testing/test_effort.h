// How many cases a long test tries: all in `make test-all`, fewer under a sanitizer, which is slow.
#pragma once

#include <cstdlib>
#include <string_view>

namespace troika {

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kChecksAddresses = true;
#else
inline constexpr bool kChecksAddresses = false;
#endif
#ifdef __SANITIZE_THREAD__
inline constexpr bool kChecksThreads = true;
#else
inline constexpr bool kChecksThreads = false;
#endif
inline constexpr bool kInstrumented = kChecksAddresses || kChecksThreads;

/// True in `make test-all`, which sets TROIKA_FULL=1: tests run their full grids.
inline bool full_grid() {
  const char* full = std::getenv("TROIKA_FULL");
  return full != nullptr && std::string_view(full) == "1";
}

/// True if a long test should try only some of its cases.
inline bool asks_less() { return kInstrumented && !full_grid(); }

}  // namespace troika
