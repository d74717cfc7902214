// Law 2 on a run of one's own: the same few steps under several plans, against one device.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "train/movement.h"

namespace troika {

struct VerifyOptions {
  std::vector<std::string> plans;  ///< "data:4", "tensor:2", "plan.json", "plan.json:8".
  std::int64_t steps = 5;
  bool cpu_kernels = false;           ///< In f32; else the reference kernels in f64.
  std::optional<double> tolerance{};  ///< Unset: as the kernels allow.
  std::string from{};                 ///< Starts from these weights; empty: from the seed.
};

/// What came out under one plan.
struct PlanVerdict {
  std::string plan;
  std::int64_t devices = 1;
  double tolerance = 0;      ///< 0: bit for bit.
  Comparison tensors;        ///< Against one device.
  double loss = 0;           ///< Of the last step.
  double loss_distance = 0;  ///< Largest relative one over the steps.

  bool agrees() const { return !tensors.first && loss_distance <= tolerance; }
};

struct PlanVerdicts {
  std::int64_t steps = 0;  ///< Done under each plan.
  double loss = 0;         ///< Of the last step, on one device.
  /// How far two runs on one device that differ in threads alone came apart; 0 where threads make
  /// no difference to the kernels.
  double noise = 0;
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
