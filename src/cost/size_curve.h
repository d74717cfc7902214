// Times measured at some sizes, and what they say of the sizes between and beyond.
#pragma once

#include <vector>

#include "base/units.h"

namespace troika {

struct SizePoint {
  Bytes bytes{};
  double nanoseconds = 0;

  bool operator==(const SizePoint&) const = default;
};

/// A straight line from point to point, so that alpha + n beta is met exactly. Below the first
/// point its time, beyond the last one in proportion to the bytes. Rises wherever the points do.
struct SizeCurve {
  std::vector<SizePoint> points{};  ///< In ascending order, each size once.

  bool empty() const { return points.empty(); }
  /// Nanoseconds. Not for an empty curve.
  double at(Bytes bytes) const;

  bool operator==(const SizeCurve&) const = default;
};

/// The points with each time raised to that of the smaller sizes before it: a longer vector that
/// seems quicker is noise.
SizeCurve rising(std::vector<SizePoint> points);

}  // namespace troika
