// Blocks of host memory for CPU devices: zeroed, aligned to 64 bytes, large ones on huge pages.
#pragma once

#include <cstddef>

#include "base/units.h"

namespace troika {

/// Returns null if the system refuses. Free with release_host_block and the same size.
std::byte* host_block(Bytes bytes) noexcept;
void release_host_block(std::byte* address, Bytes bytes) noexcept;

}  // namespace troika
