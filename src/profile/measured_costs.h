// Where the times of a device's kernels come from: those given (of a run that is resumed), else
// those of an earlier start on this kind of device, kept in a file, else measurement. Only kernels
// that agree with the reference have one.
#pragma once

#include <filesystem>
#include <map>

#include "cost/table_json.h"
#include "profile/kernel_check.h"
#include "profile/kernel_timer.h"

namespace troika {

/// Borrows the device and the backend; used by one thread. Several processes may share the file:
/// rows that are there already stay.
class MeasuredCosts {
 public:
  struct Options {
    std::filesystem::path folder;  ///< Holds one file per kind of device; empty for none.
    /// What times depend on besides the kind of device: the processor's name, the build. Part of
    /// the file's name and contents.
    std::string made_by{};
    /// Left aside when it is of another kind of device.
    CostFile given{};
    /// What the file has is not asked for, and replaced by what is measured now.
    bool measures_anew = false;
    /// Candidates that take more than this are not measured, since they could not run either; 0
    /// sets no limit.
    Bytes memory{};
  };
  MeasuredCosts(Device& device, const Backend& backend, Options options);

  /// The candidates of the backend that agree with the reference, each with its time. Throws
  /// Error(numeric) when none agrees.
  std::vector<Candidate> answer(const KernelKey& key);
  /// The kernels left out of answers because they do not agree with the reference.
  const std::vector<LeftOutKernel>& left_out() const { return left_out_; }
  std::vector<LeftOutKernel> left_out(const KernelKey& key) const;
  /// Gives the memory of measurements back and writes what was measured since the last time. A
  /// folder that cannot be written only costs time at the next start. A folder of another user is
  /// only read, and a lock that another process holds is tried for a second.
  void finish();
  /// Why the last finish() has not written what was measured; empty where it has, or where there
  /// was nothing to write.
  const std::string& why_not_kept() const { return why_not_kept_; }

  std::int64_t measured() const { return measured_; }
  /// Kernels that were held against the reference in this process.
  std::int64_t checked() const { return check_.checked(); }
  /// Seconds spent on measuring and on holding kernels against the reference.
  double measuring_seconds() const { return measuring_seconds_; }
  double checking_seconds() const { return check_.seconds(); }
  const std::filesystem::path& file() const { return file_; }

 private:
  /// Without those that do not fit into the device: to check or measure one of them may get this
  /// process killed. All of them where none fits.
  std::vector<Candidate> fitting(const KernelKey& key, std::vector<Candidate> candidates) const;
  bool fits(const KernelKey& key, const Candidate& candidate) const;
  void write_rows();

  const Backend& backend_;
  KernelTimer timer_;
  KernelCheck check_;
  std::filesystem::path file_;
  std::string provenance_;
  std::string why_not_kept_;
  KernelTable given_, kept_, new_rows_;
  bool measures_anew_;
  Bytes memory_;
  std::int64_t measured_ = 0;
  std::int64_t checks_kept_ = 0;
  std::vector<LeftOutKernel> left_out_;
  double measuring_seconds_ = 0;
};

}  // namespace troika
