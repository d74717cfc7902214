// Assigns each element of the state to the device that writes it into a checkpoint. Several devices
// may store an element; exactly one of them writes it.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "taskgraph/storage.h"

namespace troika {

/// A box of a tensor, and the slice of a device that contains it.
struct OwnedPart {
  std::size_t entry = 0;  ///< Index in the state.
  Region region;
  DeviceId device;
  Region slice;
};

/// The parts of the devices for which `is_here` holds. Over all devices they cover every element of
/// the state once; every rank divides alike, because the state says the same on all of them.
/// Replicas take turns from tensor to tensor, so that all write about as much.
std::vector<OwnedPart> divide_state(const std::vector<StateEntry>& state,
                                    const std::function<bool(DeviceId)>& is_here);

/// Copies the part out of the plain bytes of its slice. `bytes` has the size of the part.
void copy_part(const OwnedPart& part, std::span<const std::byte> slice, std::span<std::byte> bytes);

}  // namespace troika
