#include "kernels/cpu/streaming.h"

namespace troika {

bool stores_whole_lines() {
#if defined(__x86_64__)
  static const bool whole = __builtin_cpu_supports("x86-64-v4");
  return whole;
#else
  return false;
#endif
}

}  // namespace troika
