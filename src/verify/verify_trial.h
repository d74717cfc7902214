// Trains a few steps for `troika verify` and compares two such runs value by value.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "strategy/strategy.h"
#include "verify/movement.h"

namespace troika {

/// One value after one step: its distance from the value of one device, and the allowed distance.
struct Finding {
  std::string value;  ///< A tensor of the state, or kLossName.
  std::int64_t step = 0;
  double distance = 0;
  double allowed = 0;  ///< 0: equal bits.

  bool agrees() const { return distance <= allowed; }
};
inline constexpr const char* kLossName = "loss";

/// Describes a run of a few steps. Borrows the configuration.
struct Trial {
  const RunConfig& config;
  std::int64_t steps = 1;
  std::string from{};  ///< Weights to start from; empty: initial weights from the seed.
  std::optional<Strategy> strategy{};  ///< Unset: the one that [parallel] names.
  std::uint64_t nudge = 0;             ///< If not 0, nudge_weights() is called with it.
};

/// Result of a run: states and losses.
struct Trained {
  std::vector<StateTensor> start;
  std::map<std::int64_t, std::vector<StateTensor>> after;  ///< After the first and the last step.
  std::vector<double> losses;
};

Trained run_trial(const Trial& trial);

/// Returns the distances of the losses of all steps, then those of the tensors after the first and
/// after the last step. `allowed` is not set. Tensors are not compared after other steps, because
/// reading the state would end the overlap of a step with the next one, which is to be verified.
std::vector<Finding> compare_trained(const Trained& found, const Trained& truth);

/// Measures on one device how far correct results in f32 may be apart, value by value. A plan sums
/// in another order, which changes last digits; so do another number of threads and nudged weights.
/// How much such a change grows depends on the run and not on the plan: on the optimizer (the first
/// step of LAMB and Adam follows the sign of each gradient), on relus near zero, on the number of
/// steps.
class Sensitivity {
 public:
  /// Makes the first runs. All repeat `trial`, which ran on one device and gave `truth`. Borrows
  /// both.
  Sensitivity(const Trial& trial, const Trained& truth);

  /// Makes one more run. Returns false, without a run, if enough were made.
  bool nudge();

  /// Sets `allowed` for findings of compare_trained(): twice the largest distance, but no less than
  /// float_tolerance(0).
  void allow(std::vector<Finding>& findings) const;

  /// Returns the largest distances so far, in the order of compare_trained().
  const std::vector<Finding>& largest() const { return largest_; }

 private:
  void add(const Trained& other);

  const Trial& trial_;
  const Trained& truth_;
  std::vector<Finding> largest_;
  std::uint64_t nudges_ = 0;
};

}  // namespace troika
