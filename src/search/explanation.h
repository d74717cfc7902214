// Why a plan is as it is: what each choice costs, what the next best choices would, and where the
// gain over data parallelism comes from.
#pragma once

#include <string>
#include <vector>

#include "search/searched_plan.h"
#include "search/split_menus.h"

namespace troika {

/// Another split for an operator, with all other splits unchanged.
struct SplitAlternative {
  Split split;
  SimTime difference{};  ///< Of the step.
  bool fits = true;
};

struct ExplainedOperator {
  std::string name;
  Split split;
  std::vector<SplitAlternative> alternatives{};  ///< The shortest steps first, two at most.
  /// The step with the split of data parallelism instead; unset if it has that split already, or
  /// if the change is infeasible.
  std::optional<SimTime> as_data_parallel{};
};

/// A part of the difference between data parallelism and the plan: what the step gained when this
/// operator took over its split, after those before it in the list.
struct GainPart {
  std::string name;
  SimTime gain{};
};

struct Explanation {
  SimTime period{};
  std::optional<SimTime> data_parallel{};    ///< Unset if that plan is infeasible, or cannot be
                                             ///< reached one operator at a time.
  std::vector<ExplainedOperator> operators;  ///< Those that have a choice.
  std::vector<GainPart> gains;  ///< They add up to data_parallel - period. Empty if that is unset.
  std::int64_t simulated = 0;   ///< Plans.

  /// Null: the operator has no choice.
  const ExplainedOperator* find(const std::string& op) const;
};

/// Takes the plan apart by changing one operator at a time. The request has the plan as its
/// strategy, and is feasible. Alternatives come from the menus. The gains follow the order of the
/// graph.
Explanation explain_plan(const LowerRequest& request, const ScoringKernels& kernels,
                         const SplitMenus& menus);

}  // namespace troika
