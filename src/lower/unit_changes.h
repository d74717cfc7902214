// Units decided again after a change of splits.
#pragma once

#include "lower/program_plan.h"

namespace troika {

/// Decides the units again of all regions that contain what is touched, after the borders around
/// them. Adds to `touched` the jobs and updates whose units have changed, and the parameters that
/// are stored in other layouts, and to `decided` all jobs of the regions. False if the table lacks
/// a row; the units are then incomplete.
[[nodiscard]] bool decide_again(ProgramPlan& plan, const UnitChooser& chooser, Touched& touched,
                                std::vector<std::int32_t>& decided);

}  // namespace troika
