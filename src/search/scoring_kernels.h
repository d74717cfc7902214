// The kernels that plans are compared with while one is looked for: one for each key, which leaves
// all operands plain, so that any two plans can be compared without measuring anything.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cost/kernel_fit.h"
#include "machine/machine.h"

namespace troika {

/// Times come, in this order, from known rows of the device's kind, from a fit over these, and from
/// a fit over the known rows of another kind, at the rates of the device. Without any known rows,
/// candidates have no time, and lowering takes the roofline of the device.
///
/// Reorders are left out, since plain operands need none; the plans that a search ends with are
/// compared again with all kernels. Immutable, so several threads may use one object.
class ScoringKernels {
 public:
  /// For the kinds of devices of the machine. Copies what it needs.
  ScoringKernels(const KernelTable& known, const Machine& machine);

  /// Empty for operators that cannot run as one kernel.
  std::vector<Candidate> answer(const KernelRequest& row) const;
  /// Whether operators may run as one kernel.
  bool may_fuse() const;
  /// Whether the row was timed itself.
  bool is_measured(const KernelRequest& row) const;
  /// The kind of device whose rows the times of this kind are fitted to; empty: none.
  const std::string& source_of(const std::string& kind) const;
  /// Null: none.
  const KernelFit* fit_of(const std::string& kind) const;

 private:
  struct Kind {
    std::string source;  // the kind of the known rows
    DeviceRates rates;   // at which they are scaled; of the source itself, if it is this kind
    bool is_own = false;
  };
  std::optional<SimTime> known_time(const KernelRequest& row) const;

  KernelTable known_;
  std::map<std::string, KernelFit> fits_;  // by kind of the rows
  std::map<std::string, Kind> kinds_;
};

}  // namespace troika
