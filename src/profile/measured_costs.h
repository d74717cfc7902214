// Where the times of a device's kernels come from: those given (of a run that goes on), else those
// of an earlier start on this kind of device, kept in a file, else measurement.
#pragma once

#include <filesystem>
#include <map>

#include "cost/table_json.h"
#include "profile/kernel_timer.h"

namespace troika {

/// Borrows the device and the backend; used by one thread. Several processes may share the file:
/// each replaces it as a whole, and what it loses it measures again.
class MeasuredCosts {
 public:
  struct Options {
    std::filesystem::path folder;  ///< Holds one file per kind of device; empty for none.
    KernelTable given{};
  };
  MeasuredCosts(Device& device, const Backend& backend, Options options);

  /// What the backend offers for the key, each candidate with its time.
  std::vector<Candidate> answer(const KernelKey& key);
  /// Writes what was measured since the last save. A folder that cannot be written only costs time
  /// at the next start.
  void save();

  std::int64_t measured() const { return measured_; }
  const std::filesystem::path& file() const { return file_; }

 private:
  Device& device_;
  const Backend& backend_;
  KernelTimer timer_;
  std::filesystem::path file_;
  KernelTable given_, kept_;
  std::int64_t measured_ = 0;
  bool unsaved_ = false;
};

}  // namespace troika
