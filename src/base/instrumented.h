// Whether this code is compiled for a sanitizer: many times slower, so that tests ask less of it.
#pragma once

namespace troika {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kInstrumented = true;
#else
inline constexpr bool kInstrumented = false;
#endif

}  // namespace troika
