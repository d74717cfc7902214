// Text and JSON of why a plan is as it is, for `troika plan` and `troika inspect`.
#pragma once

#include <string>

#include "cli/plan_explanation.h"

namespace troika::cli {

std::string to_text(const PlanExplanation& explanation);
/// One line.
std::string to_json_text(const PlanExplanation& explanation);

}  // namespace troika::cli
