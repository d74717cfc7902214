// Holds kernels against the reference before their times count.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cost/kernel_table.h"
#include "device/device.h"
#include "kernels/kernel.h"

namespace troika {

/// A kernel that computes something else than the reference, and is therefore not used.
struct LeftOutKernel {
  std::string key;
  std::string kernel;  ///< to_text of the candidate.
  std::string reason;

  bool operator==(const LeftOutKernel&) const = default;
};

/// "direct plain for linear{out=5} forward f32[4,3]: y is off by 0.64, 2e-05 is allowed"
std::string to_text(const LeftOutKernel& kernel);

/// Those of the table's checks that failed.
std::vector<LeftOutKernel> failed_checks(const KernelChecks& checks);

/// Each candidate is checked once per kind of key: on the smallest of smaller_keys() for which the
/// backend offers it, at worst on the key itself. Borrows both; used by one thread. Kernels run on
/// the device's own thread, in host memory.
class KernelCheck {
 public:
  KernelCheck(Device& device, const Backend& backend) : device_(device), backend_(backend) {}

  /// What `known` has is not checked again.
  void take_known(KernelChecks known) { checks_ = std::move(known); }
  /// The candidates that are right. Throws Error(numeric) that names all when none is.
  std::vector<Candidate> keep_right(const KernelKey& key, std::vector<Candidate> candidates);
  /// Those of the candidates that keep_right leaves out for this key.
  std::vector<LeftOutKernel> left_out(const KernelKey& key,
                                      const std::vector<Candidate>& candidates) const;

  /// All results so far, those that were known included.
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
