// How long kernels take on a device, found by running them on made-up values.
#pragma once

#include <map>

#include "device/device.h"
#include "kernels/kernel.h"

namespace troika {

/// Memory that a measurement of the candidate needs: its operands and scratch.
Bytes memory_to_measure(const KernelKey& key, const Candidate& candidate);

/// Keeps one block of device memory for the operands of all measurements. Used by one thread.
class KernelTimer {
 public:
  /// Borrows both.
  KernelTimer(Device& device, const Backend& backend) : device_(device), backend_(backend) {}

  /// Sets each candidate's time to the least of a few launches, which candidates take in turns. A
  /// candidate that is far slower than the best in its first launches is not run again.
  void measure(const KernelKey& key, std::vector<Candidate>& candidates);
  /// Frees the memory; a later measurement allocates it again.
  void release() { memory_ = {}; }

 private:
  std::vector<DevicePointer> lay_out(const KernelKey& key,
                                     const std::vector<Candidate>& candidates);
  void fill(DevicePointer at, Bytes bytes, DType dtype);

  Device& device_;
  const Backend& backend_;
  Buffer memory_;
  std::map<DType, std::vector<std::byte>> values_;  // to fill operands with, as far as used
};

}  // namespace troika
