// Who writes what of the state into a checkpoint: each element is written from one of the slices
// that have it.
#pragma once

#include <span>
#include <vector>

#include "runtime/session.h"

namespace troika {

/// A box of a tensor, and the slice that it is read from, which may have more.
struct OwnedPart {
  std::size_t entry = 0;  ///< Of the state.
  Region region;
  StoredSlice slice;
};

/// Covers every element of the state once, with slices of devices of all processes: the same
/// everywhere. Which of several replicas it is goes round from tensor to tensor, so that all write
/// about equally much.
std::vector<OwnedPart> divide_state(const std::vector<StateEntry>& entries,
                                    const std::vector<StoredSlice>& storage);

/// The part out of the plain bytes of its slice; `bytes` has the size of the part.
void copy_part(const OwnedPart& part, std::span<const std::byte> slice, std::span<std::byte> bytes);

}  // namespace troika
