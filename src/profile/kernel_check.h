// Compares kernels with the reference before they are timed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cost/kernel_table.h"
#include "device/device.h"
#include "kernels/kernel.h"

namespace troika {

/// A kernel whose results differ from the reference, and which is therefore not used.
struct LeftOutKernel {
  std::string key;
  std::string kernel;  ///< to_text of the candidate.
  std::string reason;

  bool operator==(const LeftOutKernel&) const = default;
};

/// "direct plain for linear{out=5} forward f32[4,3]: y is off by 0.64, 2e-05 is allowed"
std::string to_text(const LeftOutKernel& kernel);

/// Returns the failed checks.
std::vector<LeftOutKernel> failed_checks(const KernelChecks& checks);

/// Checks each candidate once per kind of key: on the smallest of smaller_keys() for which the
/// backend offers it, if necessary on the key itself. Borrows the device and the backend; used by
/// one thread. Kernels run on the device's own thread, in host memory.
class KernelCheck {
 public:
  KernelCheck(Device& device, const Backend& backend) : device_(device), backend_(backend) {}

  /// Candidates in `known` are not checked again.
  void take_known(KernelChecks known) { checks_ = std::move(known); }
  /// Returns the candidates that agree with the reference. Throws Error(numeric) if none does.
  std::vector<Candidate> keep_right(const KernelKey& key, std::vector<Candidate> candidates);
  /// Returns the candidates that keep_right() removes for this key.
  std::vector<LeftOutKernel> left_out(const KernelKey& key,
                                      const std::vector<Candidate>& candidates) const;

  /// All results so far, including the known ones.
  const KernelChecks& checks() const { return checks_; }
  std::int64_t checked() const { return checked_; }  ///< Kernels, in this process.
  double seconds() const { return seconds_; }        ///< Spent on them.

 private:
  const std::string* find(const std::vector<std::string>& keys, const Candidate& candidate) const;
  void check(const std::vector<KernelKey>& keys, const std::vector<Candidate>& candidates);
  const std::vector<Candidate>& offered(const KernelKey& key);

  Device& device_;
  const Backend& backend_;
  KernelChecks checks_;
  std::map<std::string, std::vector<Candidate>> offered_;  // by key text
  std::int64_t checked_ = 0;
  double seconds_ = 0;
};

}  // namespace troika
