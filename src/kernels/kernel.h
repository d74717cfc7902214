// A kernel: made once per KernelTable row, launched many times. A backend answers keys with
// candidates and compiles them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cost/kernel_table.h"
#include "device/device.h"

namespace troika {

class Kernel {
 public:
  virtual ~Kernel() = default;
  /// Runs on the device's own thread. `operands` are in the order of operands_of(key); `scratch`
  /// has the candidate's size. Never allocates.
  virtual void launch(std::span<const DevicePointer> operands, DevicePointer scratch) = 0;
};

/// Kernels of one idea that have none for a key, and why: a sentence without its end.
struct DeclinedFamily {
  std::string name;
  std::string reason;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  /// Best first by rule; empty when nothing fits.
  virtual std::vector<Candidate> candidates(const KernelKey& key) const = 0;
  /// For people who wonder; not every family that could be is named.
  virtual std::vector<DeclinedFamily> declined(const KernelKey&) const { return {}; }
  virtual std::unique_ptr<Kernel> compile(const KernelKey& key,
                                          const Candidate& candidate) const = 0;
};

}  // namespace troika
