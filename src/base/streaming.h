// Copies with non-temporal stores, for results larger than the caches. An ordinary store first
// reads the cache line that it overwrites.
#pragma once

#include <cstddef>

namespace troika {

/// Uses ordinary stores for the partial cache lines at both ends. The same thread must call
/// stream_end() before another thread reads `to`.
void stream_copy(std::byte* to, const std::byte* from, std::size_t bytes);
void stream_end();

}  // namespace troika
