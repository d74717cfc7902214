// How long kernels take on a device, found by running them on zeros.
#pragma once

#include "device/device.h"
#include "kernels/kernel.h"

namespace troika {

/// Keeps one block of device memory for the operands of all measurements, given back with the
/// timer. Used by one thread.
class KernelTimer {
 public:
  /// Borrows both.
  KernelTimer(Device& device, const Backend& backend) : device_(device), backend_(backend) {}

  /// Gives each candidate the least time of a few launches. One that starts far behind the best so
  /// far is not run again.
  void measure(const KernelKey& key, std::vector<Candidate>& candidates);

 private:
  std::vector<DevicePointer> place(const KernelKey& key, const Candidate& candidate);
  void grow(Bytes bytes);

  Device& device_;
  const Backend& backend_;
  Buffer memory_;
};

}  // namespace troika
