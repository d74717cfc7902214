// How long kernels take on a device in a step, found by running them on made-up values.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "device/device.h"
#include "kernels/kernel.h"
#include "profile/kernel_contest.h"

namespace troika {

/// What each of so many devices touches in a step of so many bytes, rounded up, if that stays in
/// the shared cache from one step to the next; else 0.
Bytes touched_in_cache(Bytes step, std::int32_t devices);

/// Memory that a measurement of the candidate needs: its operands and scratch.
Bytes memory_to_measure(const KernelKey& key, const Candidate& candidate);

/// Keeps a block of memory on each device for the operands of all measurements. Used by one thread.
class KernelTimer {
 public:
  struct Options {
    /// Devices of the same kind that run every launch at the same time, as those of a step do.
    int neighbours = 0;
    std::function<std::unique_ptr<Device>(int number)> make_neighbour{};  ///< From 1.
    Bytes memory{};  ///< Of a device; 0: no limit. The operands of one launch are always allocated.
    /// What a device touches between two launches of a kernel, if that fits into the shared cache;
    /// 0: the operands have left the caches by then.
    Bytes touched{};
  };

  /// Borrows device and backend.
  KernelTimer(Device& device, const Backend& backend) : KernelTimer(device, backend, {}) {}
  KernelTimer(Device& device, const Backend& backend, Options options);

  /// Sets each candidate's time to the median of a few launches, which candidates take in turns,
  /// and its timing, without the date. As in a step, only the operand that the task before wrote
  /// may be in a cache. A candidate that is far slower than the best in its first launches is not
  /// run again.
  void measure(const KernelKey& key, std::vector<Candidate>& candidates);
  /// Frees memory and neighbours; a later measurement makes them again.
  void release();

 private:
  /// The memory of one device.
  struct Place {
    Buffer fixed;              ///< Operands that are the same in each launch.
    Buffer ring;               ///< Blocks of the others.
    Bytes used{};              ///< Of the ring, since it was filled.
    DType dtype = DType::f32;  ///< Of its values.
  };
  OperandBlocks lay_out(const KernelKey& key, const std::vector<Candidate>& candidates,
                        std::size_t at);
  DevicePointer fixed_memory(std::size_t at, Bytes bytes);
  DevicePointer take_blocks(std::size_t at, DType dtype, std::int64_t candidates,
                            OperandBlocks& made);
  void fill(Device& device, DevicePointer at, Bytes bytes, DType dtype);
  Device& device(std::size_t at) { return at == 0 ? device_ : *neighbours_[at - 1]; }

  Device& device_;
  const Backend& backend_;
  Options options_;
  std::vector<std::unique_ptr<Device>> neighbours_;
  std::vector<Place> places_;                       // of the device and its neighbours
  std::map<DType, std::vector<std::byte>> values_;  // to fill operands with, as far as used
};

}  // namespace troika
