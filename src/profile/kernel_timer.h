// How long kernels take on a device, found by running them on made-up values.
#pragma once

#include <map>

#include "device/device.h"
#include "kernels/kernel.h"

namespace troika {

/// What a measurement of the candidate takes: its operands and scratch.
Bytes memory_to_measure(const KernelKey& key, const Candidate& candidate);

/// Keeps one block of device memory for the operands of all measurements. Used by one thread.
class KernelTimer {
 public:
  /// Borrows both.
  KernelTimer(Device& device, const Backend& backend) : device_(device), backend_(backend) {}

  /// Gives each candidate the least time of a few launches, taken in turns. One that starts far
  /// behind the best is not run again.
  void measure(const KernelKey& key, std::vector<Candidate>& candidates);
  /// Gives the memory back; a later measurement takes it anew.
  void release() { memory_ = {}; }

 private:
  std::vector<DevicePointer> place(const KernelKey& key, const std::vector<Candidate>& candidates);
  void fill(DevicePointer at, Bytes bytes, DType dtype);

  Device& device_;
  const Backend& backend_;
  Buffer memory_;
  std::map<DType, std::vector<std::byte>> values_;  // to fill operands with, as far as used
};

}  // namespace troika
