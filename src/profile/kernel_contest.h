// Launches the kernels of one key in turns and takes their times, on one device or on several that
// run the same launch at the same time, as the devices of a step do.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <span>
#include <vector>

#include "device/device.h"
#include "kernels/kernel.h"

namespace troika {

/// The operands of each launch on one device: blocks of equal layout, one behind the other. A
/// launch takes the block after that of the launch before, so that its operands are not in the
/// caches.
struct OperandBlocks {
  std::vector<DevicePointer> first;  ///< Operands of the first block, then the scratch.
  std::vector<bool> moves;  ///< Of each: whether it lies in the block or is always the same.
  Bytes block{};
  std::int64_t blocks = 1;
};

struct Contestant {
  Device* device = nullptr;
  OperandBlocks operands;
  /// Of each candidate: operands that are written where another one is read.
  std::vector<std::vector<InPlace>> in_place;
  std::vector<std::unique_ptr<Kernel>> kernels;  ///< One per candidate.
};

/// At most so many launches of each candidate.
constexpr std::int64_t kMostLaunches = 10;

/// Of each candidate the times of its launches on the first device, without the very first launch
/// if there are others.
std::vector<std::vector<std::chrono::nanoseconds>> run_contest(
    std::vector<Contestant>& contestants, const std::vector<std::int64_t>& position);

}  // namespace troika
