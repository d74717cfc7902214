// The times of a device's kernels: given ones (of a resumed run), else those of an earlier start on
// this kind of device, kept in a file, else measured now. Only kernels that agree with the
// reference get a time.
#pragma once

#include <filesystem>
#include <map>
#include <optional>

#include "cost/table_json.h"
#include "profile/kernel_check.h"
#include "profile/kernel_timer.h"

namespace troika {

/// Borrows the device and the backend; used by one thread. Several processes may share the file;
/// rows that it already has are kept. Rows of different occupancies are apart; those of versions
/// that did not say how they were measured are measured again.
class MeasuredCosts {
 public:
  struct Options {
    std::filesystem::path folder;  ///< Holds one file per kind of device; empty for none.
    /// The processor's name and the build, on which times depend in addition to the kind of device.
    /// Part of the file's name and contents.
    std::string made_by{};
    /// Rows of other kinds of devices are ignored.
    KernelTable given{};
    /// Measures everything again and replaces the rows of the file.
    bool measures_anew = false;
    /// Candidates that need more memory are not measured, since they could not run either; 0: no
    /// limit.
    Bytes memory{};
    /// Of the computer. Kernels are timed while all devices that its cores run at once compute, as
    /// in a step.
    Occupancy occupancy{};
    /// As in KernelTimer::Options; needed if several devices compute at once.
    std::function<std::unique_ptr<Device>(int number)> make_neighbour{};
  };
  MeasuredCosts(Device& device, const Backend& backend, Options options);

  /// From now on answers are for a step in which a device touches so many bytes. Kernels of a step
  /// that stays in the shared cache are timed with operands from there, and kept apart.
  void meet_step(Bytes of_device);
  /// The candidates of the backend that agree with the reference, each with its time at the
  /// occupancy. Throws Error(numeric) when none agrees.
  std::vector<Candidate> answer(const KernelKey& key);
  /// Kernels that are missing in answers because they do not agree with the reference.
  const std::vector<LeftOutKernel>& left_out() const { return left_out_; }
  std::vector<LeftOutKernel> left_out(const KernelKey& key) const;
  /// Frees the memory of measurements and writes the rows measured since the last call. If the
  /// folder cannot be written, the next start measures again. A folder of another user is only
  /// read. A lock that another process holds is tried for a second.
  void finish();
  /// Why the last finish() did not write the rows; empty if it did, or if there were none.
  const std::string& why_not_kept() const { return why_not_kept_; }

  std::int64_t measured() const { return measured_; }
  /// Of earlier starts, and of this one after finish(); else the given ones.
  const MemoryRates& memory_rates() const {
    return kept_.memory_rates.empty() ? given_.memory_rates : kept_.memory_rates;
  }
  const Occupancy& occupancy() const { return occupancy_; }
  /// Kernels that were compared with the reference in this process.
  std::int64_t checked() const { return check_.checked(); }
  /// Seconds spent on measuring kernels and on comparing them with the reference.
  double measuring_seconds() const { return measuring_seconds_; }
  double checking_seconds() const { return check_.seconds(); }
  const std::filesystem::path& file() const { return file_; }

 private:
  /// Removes candidates that do not fit into the device: checking or measuring one may get this
  /// process killed. Keeps all if none fits.
  std::vector<Candidate> fitting(const KernelKey& key, std::vector<Candidate> candidates) const;
  bool fits(const KernelKey& key, const Candidate& candidate) const;
  void measure(const KernelKey& key, std::vector<Candidate>& candidates);
  void measure_memory_rates();
  /// To time with so many devices that compute at once.
  KernelTimer::Options beside(std::int32_t at_once) const;
  void read_rows();
  void write_rows();

  Device& device_;
  const Backend& backend_;
  std::function<std::unique_ptr<Device>(int number)> make_neighbour_;
  Occupancy occupancy_;
  Bytes memory_;
  Bytes touched_{};  ///< As in KernelTimer::Options.
  std::optional<KernelTimer> timer_;
  KernelCheck check_;
  std::filesystem::path file_;
  std::string made_by_;
  std::string provenance_;  ///< Of the checks, which hold at any occupancy.
  std::string rows_of_;     ///< Of the rows.
  std::string why_not_kept_;
  KernelRows given_, kept_;
  std::map<std::string, KernelRows> new_rows_;  ///< By what they are rows of.
  bool measures_anew_;
  std::int64_t measured_ = 0;
  std::int64_t checks_kept_ = 0;
  std::vector<LeftOutKernel> left_out_;
  double measuring_seconds_ = 0;
};

}  // namespace troika
