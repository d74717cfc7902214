// Compares predicted times of collectives with measured ones.
#pragma once

#include <string>
#include <vector>

#include "cost/choose_algorithm.h"
#include "profile/links.h"

namespace troika::cli {

struct CheckedSize {
  Bytes bytes{};
  AlgorithmChoice choice;
  std::vector<double> measured{};  ///< Nanoseconds, as choice.alternatives; 0: declined.
  std::vector<double> noise{};     ///< The noise of these, by noise_of_medians.

  double measured_of(const std::string& algorithm) const { return measured[place_of(algorithm)]; }
  std::size_t quickest() const;
  /// |predicted - measured| / measured of the chosen algorithm.
  double error() const;
  /// How much longer the chosen algorithm takes than the fastest, relative to the fastest.
  double regret() const;
  /// The part of the regret that noise may explain: the noise of both, relative to the fastest.
  double regret_noise() const;
  double regret_beyond_noise() const;

 private:
  std::size_t place_of(const std::string& algorithm) const;
};

/// Chooses an all-reduce for each size, then times every algorithm.
std::vector<CheckedSize> check_predictions(const MemberTeam& team, const std::vector<Bytes>& sizes,
                                           const TimingPasses& passes, const LinkCosts& costs);

/// A line per size and algorithm, and the worst error and regret.
std::string format_checked(const std::vector<CheckedSize>& checked);
/// One line of JSON.
std::string to_json_text(const MemberTeam& team, const std::vector<CheckedSize>& checked);

}  // namespace troika::cli
