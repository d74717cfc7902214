// How many cases a long test tries: all in `make test-all`, fewer in code that a sanitizer slows
// down.
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

/// Whether the tests run their full grids, as `make test-all` does, or small ones.
inline bool full_grid() {
  const char* full = std::getenv("TROIKA_FULL");
  return full != nullptr && std::string_view(full) == "1";
}

/// Whether a long test tries a part of its cases only.
inline bool asks_less() { return kInstrumented && !full_grid(); }

}  // namespace troika
