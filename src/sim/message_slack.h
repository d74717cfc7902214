// How much later each message of a loop could end without making the loop slower.
#pragma once

#include <vector>

#include "sim/loop_body.h"
#include "sim/loop_period.h"

namespace troika {

/// By message: how much later it could be over, in each step, without a longer period. A lower
/// bound: effects are followed for 64 passes. `period` is that of the loop, as find_period gives it.
///
/// From the steady schedule of a loop without dependencies between lanes, as those of folded graphs
/// are. Durations of tasks and messages, and the order on each lane, are taken as they are in that
/// schedule, including the time that messages wait for links: a message that is on a chain of tasks
/// and messages that decides the period has slack 0. Where the loop repeats only every few passes,
/// the slack is that of the last pass before the period was known.
std::vector<SimTime> find_slack(const LoopBody& body, const LoopPeriod& period);

}  // namespace troika
