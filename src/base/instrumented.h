// Tests of code that is compiled for a sanitizer, and therefore many times slower.
#pragma once

#include <cstdlib>

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

/// Whether a long test tries a part of its cases only; TROIKA_FULL asks for all of them.
inline bool asks_less() { return kInstrumented && std::getenv("TROIKA_FULL") == nullptr; }

}  // namespace troika
