// Chooses the algorithm of a collective by predicted cost, and lists the alternatives.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cost/algorithm_ranges.h"
#include "cost/link_costs.h"

namespace troika {

struct Alternative {
  std::string algorithm;
  std::int64_t segment = 0;     ///< As in CollectiveCall.
  std::optional<SimTime> time;  ///< Predicted; unset if it declined.
  bool is_measured = false;     ///< As in PredictedTime.
  std::string declined;         ///< Why it declined.
  bool only_if_asked = false;   ///< Not chosen by cost unless its time was measured.

  bool operator==(const Alternative&) const = default;
};

struct AlgorithmChoice {
  std::string algorithm;
  std::int64_t segment = 0;
  SimTime time{};
  bool asked_for = false;                 ///< By a range, not by cost.
  std::vector<Alternative> alternatives;  ///< All of the kind, the chosen one too: quickest first,
                                          ///< then those only taken if asked for, then those that
                                          ///< declined.
};

struct ChoiceOptions {
  /// The members are all the ranks of MPI, whose own collective is one more candidate, "mpi". It
  /// has no recipe, so only measured times can choose it.
  bool offers_mpi = false;
};

/// Returns the algorithm with the least predicted time, the first in the list of algorithms among
/// equals; or the one that the ranges ask for at this size. Throws Error(usage) if that one or all
/// decline.
AlgorithmChoice choose_algorithm(const CollectiveCall& call, Bytes element, const LinkCosts& costs,
                                 const AlgorithmRanges& ranges = {},
                                 const ChoiceOptions& options = {});

/// A table of all alternatives, a line each: algorithm, predicted time or why it declined.
std::string explain(const AlgorithmChoice& choice);

}  // namespace troika
