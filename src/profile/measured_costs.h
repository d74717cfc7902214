// Where the times of a device's kernels come from: those given (of a run that goes on), else those
// of an earlier start on this kind of device, kept in a file, else measurement.
#pragma once

#include <filesystem>
#include <map>

#include "cost/table_json.h"
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
  };
  MeasuredCosts(Device& device, const Backend& backend, Options options);

  /// What the backend offers for the key, each candidate with its time.
  std::vector<Candidate> answer(const KernelKey& key);
  /// Gives the memory of measurements back and writes what was measured since the last time. A
  /// folder that cannot be written only costs time at the next start.
  void finish();

  std::int64_t measured() const { return measured_; }
  const std::filesystem::path& file() const { return file_; }

 private:
  const Backend& backend_;
  KernelTimer timer_;
  std::filesystem::path file_;
  std::string provenance_;
  KernelTable given_, kept_, new_rows_;
  bool measures_anew_;
  std::int64_t measured_ = 0;
};

}  // namespace troika
