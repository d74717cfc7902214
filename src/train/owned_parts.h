// Assigns each element of the state to the device that writes it into a checkpoint. Several devices
// may store an element; exactly one of them writes it.
#pragma once

#include <span>
#include <vector>

#include "runtime/session.h"

namespace troika {

/// A box of a tensor, and the stored slice that contains it.
struct OwnedPart {
  std::size_t entry = 0;  ///< Index in the state.
  Region region;
  StoredSlice slice;
};

/// Covers every element of the state once, over the devices of all processes, with the same result
/// on every rank. Replicas take turns from tensor to tensor, so that all write about as much.
std::vector<OwnedPart> divide_state(const std::vector<StateEntry>& entries,
                                    const std::vector<StoredSlice>& storage);

/// Copies the part out of the plain bytes of its slice. `bytes` has the size of the part.
void copy_part(const OwnedPart& part, std::span<const std::byte> slice, std::span<std::byte> bytes);

}  // namespace troika
