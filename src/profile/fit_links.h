// Fits the costs of links and memory to measured collectives.
#pragma once

#include <vector>

#include "cost/link_costs.h"

namespace troika {

/// Stores the rows and replaces older ones with as many members on the same link. Collectives of
/// two members have simple formulas: an all-gather is a message, a reduce-scatter a message that is
/// combined, a direct all-reduce two empty messages and the combining. So their rows also give the
/// costs of the link, and those of memory if members share it.
void take_measured(LinkCosts& costs, const std::vector<MeasuredAlgorithm>& rows);

/// Alpha and beta of the line with the least relative squared error; neither is negative.
struct Line {
  double alpha = 0, beta = 0;
};
Line fit_line(const SizeCurve& curve);
/// Nanoseconds per byte of points that should be a line through zero: the median over all sizes
/// that are large enough to be reliable.
double fit_rate(const SizeCurve& curve);

}  // namespace troika
