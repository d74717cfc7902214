// A plan in few words, for people.
#pragma once

#include <string>
#include <vector>

#include "setup/plan_finder.h"

namespace troika {

/// Operators that follow each other and have one split: "conv1 ... pool2", "n = 4".
struct SplitGroup {
  std::string first, last;
  std::int64_t operators = 0;
  std::string split;
};
std::vector<SplitGroup> split_groups(const Graph& graph, const Strategy& strategy);

/// "n = 4", "n = 2 as 5 : 3", "o = 2 on every 2nd device from 1", "whole on device 0", "copies =
/// 4".
std::string describe(const Split& split);

/// How much a better plan could gain at most, by the bound of the search space.
std::string bound_text(const PlanFinding& finding);

/// Three lines: what was found, how it splits the work, and how far from the bound it is.
std::vector<std::string> reasons_of(const PlanFinding& finding, const Graph& graph, double seconds);

}  // namespace troika
