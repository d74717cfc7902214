// A number by which ranks find out whether they are going to run the same program.
#pragma once

#include <cstdint>

#include "lower/program_plan.h"

namespace troika {

/// Hash of all decisions of a plan and of what algorithms are chosen by: tiles, stored places,
/// kernels, turns, lags, buckets, moves, the machine, and the link costs. Plans with equal hashes
/// give the same tasks and messages. Reads each table of the plan once, so it does not grow with
/// the number of tasks; does not depend on the order in which tables were made. Comparable within
/// one build only.
std::uint64_t hash(const ProgramPlan& plan);

}  // namespace troika
