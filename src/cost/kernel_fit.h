// Estimates the times of kernels that nobody has measured, from measured kernels of other shapes.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cost/kernel_table.h"

namespace troika {

/// What a device sustains.
struct DeviceRates {
  double flops_per_second = 0;
  double bytes_per_second = 0;

  bool operator==(const DeviceRates&) const = default;
};

/// Time as a sum of non-negative terms for each kind of kernel (operator, phase, fused operators):
/// starting it, the bytes it moves, its arithmetic, and losses by thin tiles, which are arithmetic
/// divided by the extents of the tile along its sample, parameter and reduction axes. So a kernel
/// reaches half of its rate where a tile is as thin as the fitted width of that axis.
///
/// A value; const functions may be called from several threads.
class KernelFit {
 public:
  /// Rows whose times say nothing of how they were measured are left out. Deterministic: the order
  /// of rows has no influence.
  explicit KernelFit(const KernelRows& rows);

  /// The time of the fastest kernel. Nothing for fused operators of a kind that was not measured
  /// together, and if there are no rows at all.
  std::optional<SimTime> time(const KernelKey& key) const;
  /// The same on a device with other rates: arithmetic and losses by thin tiles scale with those of
  /// arithmetic, bytes with those of memory, starting a kernel with neither.
  std::optional<SimTime> time(const KernelKey& key, const DeviceRates& rates) const;

  /// The rates that the best of the measured kernels sustain.
  const DeviceRates& rates() const { return rates_; }
  std::int64_t measured() const { return measured_; }  ///< Rows that were fitted.
  /// Mean relative error over the fitted rows.
  double error() const { return error_; }

 private:
  static constexpr std::size_t kTerms = 6;
  using Terms = std::array<double, kTerms>;  // start, bytes, flops, by samples, parameters, reduced
  struct Sample {
    Terms terms{};
    double time = 0;  // ns
  };
  struct Family {
    std::vector<Sample> samples;
    Terms weights{};
  };

  static std::string family_of(const KernelKey& key);
  static Terms terms_of(const KernelKey& key);
  static double sustained_rate(const std::vector<Sample>& samples, std::size_t term);
  static Terms solve(const std::vector<Sample>& samples);
  static double sum(const Terms& weights, const Terms& terms);
  void fit_family(Family& family) const;
  const Terms* find_weights(const KernelKey& key) const;

  std::map<std::string, Family> families_;
  Terms general_{};  // over all rows
  DeviceRates rates_;
  std::int64_t measured_ = 0;
  double error_ = 0;
};

}  // namespace troika
