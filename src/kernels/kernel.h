// A kernel is compiled once per row of the KernelTable and launched many times. A backend lists the
// candidates that can compute a key and compiles them.
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
  /// Runs on the device's own thread and never allocates. `operands` are in the order of
  /// operands_of(key); `scratch` has the candidate's size; `position` says where the tile lies and
  /// has position_count(key) numbers.
  virtual void launch(std::span<const DevicePointer> operands, DevicePointer scratch,
                      std::span<const std::int64_t> position) = 0;
};

/// An algorithm that does not support a key, and the reason, such as "the FFT is written for f32".
struct DeclinedAlgorithm {
  std::string name;
  std::string reason;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  /// The expected best first; empty if the backend has no kernel for the key.
  virtual std::vector<Candidate> candidates(const KernelKey& key) const = 0;
  /// Returns algorithms that do not support the key, for reports to the user. Not all are listed.
  virtual std::vector<DeclinedAlgorithm> declined(const KernelKey&) const { return {}; }
  virtual std::unique_ptr<Kernel> compile(const KernelKey& key,
                                          const Candidate& candidate) const = 0;
};

}  // namespace troika
