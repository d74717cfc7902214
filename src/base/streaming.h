// Copies that go past the caches, for results so long that no cache holds them until they are read.
// Ordinary stores would fetch every line before it is overwritten.
#pragma once

#include <cstddef>

namespace troika {

/// What does not fill a line at either end is stored as usual. stream_end() must follow on the same
/// thread before another one reads.
void stream_copy(std::byte* to, const std::byte* from, std::size_t bytes);
void stream_end();

}  // namespace troika
