// Law 2 on a run of one's own: the same few steps under several plans, against one device.
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
  bool cpu_kernels = false;           ///< In f32; else the reference kernels in f64.
  std::optional<double> tolerance{};  ///< Unset: as the kernels and the run's sensitivity allow.
  std::string from{};                 ///< Starts from these weights; empty: from the seed.
};

/// What came out under one plan.
struct PlanVerdict {
  std::string plan;
  std::int64_t devices = 1;
  double loss = 0;                ///< Of the last step.
  std::vector<Finding> findings;  ///< In the order of compare_trained().

  bool agrees() const { return first() == nullptr; }
  bool has_same_bits() const;
  /// The first tensor, or else loss, beyond what is allowed; null if there is none.
  const Finding* first() const;
  /// The value that comes closest to what is allowed, or exceeds it most.
  const Finding& largest() const;
};

struct PlanVerdicts {
  std::int64_t steps = 0;  ///< Done under each plan.
  double loss = 0;         ///< Of the last step, on one device.
  /// How far runs on one device came apart, after the first and after the last step, that differ
  /// only in the number of threads or in the last digits of the initial weights. Empty where
  /// rounding cannot explain a difference.
  std::vector<Finding> sensitivity;
  std::vector<PlanVerdict> plans;
};

/// Told before each run what it is.
using VerifyNote = std::function<void(const std::string&)>;

/// Trains the first steps of the run on one device and then under each plan, from the same state on
/// the same samples. Throws Error(usage) before the first of them with a line for every plan that
/// cannot run, and Error(file) for a plan that cannot be read.
PlanVerdicts verify_plans(const RunConfig& config, const VerifyOptions& options,
                          const VerifyNote& note = {});

}  // namespace troika
