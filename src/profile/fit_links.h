// What measured collectives say of the links and the memory under them.
#pragma once

#include <vector>

#include "cost/link_costs.h"

namespace troika {

/// Keeps the rows, in place of older ones of as many members on the same link. Those of two members
/// are simple enough to be read backwards: an all-gather is a message, a reduce-scatter one that is
/// combined, a direct all-reduce two empty messages and the combining; so they also give the costs
/// of the link, and those of memory where members share it.
void take_measured(LinkCosts& costs, const std::vector<MeasuredAlgorithm>& rows);

/// Alpha and beta of the line that is nearest to the points in proportion to their times; neither
/// is negative.
struct Line {
  double alpha = 0, beta = 0;
};
Line fit_line(const SizeCurve& curve);
/// Nanoseconds per byte of points that should be a line from zero: the middle one of all sizes that
/// are not too small to tell.
double fit_rate(const SizeCurve& curve);

}  // namespace troika
