// When each update runs, and which updates are carried into the next step.
#pragma once

#include <optional>
#include <string_view>

#include "lower/program_plan.h"

namespace troika {

/// The last job that reads the old weight or adds to its gradient.
std::size_t last_user(const ProgramPlan& plan, const UpdatePlan& update);

/// Why the update runs in its own step, not beside the next one: an update is carried only if it
/// waits for messages, the strategy lets them overlap computation, and the next forward says by
/// when it must have run. Nothing if it is carried. Needs nothing of the plan but the updates.
[[nodiscard]] std::optional<std::string_view> why_not_carried(const ProgramPlan& plan,
                                                              const UpdatePlan& update);

/// Decides when each update runs. A carried one has a lag of one step and stands right before its
/// weight is read next. Another one stands behind the last phase that needs the old weight if
/// nothing is waited for, else at the end of the step. Returns the updates whose moments have
/// changed, in ascending order.
std::vector<std::int32_t> plan_moments(ProgramPlan& plan);

}  // namespace troika
