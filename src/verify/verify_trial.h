// The runs behind `verify`: a few steps from one state, compared value by value.
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

/// One value after one step: how far it is from one device's, and how far it may be.
struct Finding {
  std::string value;  ///< A tensor of the state, or kLossName.
  std::int64_t step = 0;
  double distance = 0;
  double allowed = 0;  ///< 0: bit for bit.

  bool agrees() const { return distance <= allowed; }
};
inline constexpr const char* kLossName = "loss";

/// One run of a few steps. The configuration is borrowed.
struct Trial {
  const RunConfig& config;
  std::int64_t steps = 1;
  std::string from{};                  ///< Starts from these weights; empty: from the seed.
  std::optional<Strategy> strategy{};  ///< Unset: the one that [parallel] names.
  std::uint64_t nudge = 0;             ///< Other than 0: nudge_weights() by it.
};

/// What the steps left behind.
struct Trained {
  std::vector<StateTensor> start;
  std::map<std::int64_t, std::vector<StateTensor>> after;  ///< The first and the last step.
  std::vector<double> losses;
};

Trained run_trial(const Trial& trial);

/// The losses of all steps, then the tensors after the first and after the last one; nothing is
/// said yet of what is allowed. The state is not read in between, because that would end what a
/// step carries over to the next.
std::vector<Finding> compare_trained(const Trained& found, const Trained& truth);

/// How far right answers in f32 may be apart, value by value, measured on one device: a plan adds
/// up in another order, which changes last digits, and so do another number of threads and nudged
/// weights. What such a change grows to is a property of the run and not of a plan: of LAMB and
/// Adam, whose first direction is the sign of each gradient, of a relu near zero, of the steps so
/// far.
class Sensitivity {
 public:
  /// Makes the first runs. All are like `trial`, which is on one device and gave `truth`.
  Sensitivity(const Trial& trial, const Trained& truth);

  /// One more run. False when as many were made as are worth their time.
  bool nudge();

  /// Fills in what is allowed for findings of compare_trained(): twice the largest distance, but no
  /// less than float_tolerance(0).
  void allow(std::vector<Finding>& findings) const;

  /// The largest distances so far, in the order of compare_trained().
  const std::vector<Finding>& largest() const { return largest_; }

 private:
  void add(const Trained& other);

  const Trial& trial_;
  const Trained& truth_;
  std::vector<Finding> largest_;
  std::uint64_t nudges_ = 0;
};

}  // namespace troika
