// Checks law 2 on a user's run: trains the same few steps under several plans and compares the
// results with those of one device.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "verify/verify_trial.h"

namespace troika {

struct VerifyOptions {
  std::vector<std::string> plans;  ///< "data:4", "tensor:2", "plan.json", "plan.json:8".
  std::int64_t steps = 5;
  bool cpu_kernels = false;           ///< CPU kernels in f32; else reference kernels in f64.
  std::optional<double> tolerance{};  ///< Unset: from the kernels and the run's sensitivity.
  std::string from{};  ///< Weights to start from; empty: initial weights from the seed.
};

/// Result of one plan.
struct PlanVerdict {
  std::string plan;
  std::int64_t devices = 1;
  double loss = 0;                ///< Loss of the last step.
  std::vector<Finding> findings;  ///< In the order of compare_trained().

  bool agrees() const { return first() == nullptr; }
  bool has_same_bits() const;
  /// Returns the first tensor, or else loss, beyond what is allowed; null if there is none.
  const Finding* first() const;
  /// Returns the value that comes closest to what is allowed, or exceeds it most.
  const Finding& largest() const;
};

struct PlanVerdicts {
  std::int64_t steps = 0;  ///< Steps done under each plan.
  double loss = 0;         ///< Loss of the last step on one device.
  /// Distances, after the first and after the last step, between runs on one device that differ
  /// only in the number of threads or the last digits of the initial weights. Empty if rounding
  /// cannot explain a difference.
  std::vector<Finding> sensitivity;
  std::vector<PlanVerdict> plans;
};

/// Called before each run with its description.
using VerifyNote = std::function<void(const std::string&)>;

/// Trains the first steps of the run on one device and then under each plan, from the same state
/// with the same samples. Before the first run, throws Error(usage) with a line for every plan that
/// cannot run, or Error(file) for a plan that cannot be read.
PlanVerdicts verify_plans(const RunConfig& config, const VerifyOptions& options,
                          const VerifyNote& note = {});

}  // namespace troika
