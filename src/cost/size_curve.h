// Times measured at some sizes, interpolated and extrapolated to other sizes.
#pragma once

#include <vector>

#include "base/units.h"

namespace troika {

struct SizePoint {
  Bytes bytes{};
  double nanoseconds = 0;

  bool operator==(const SizePoint&) const = default;
};

/// Linear between points, so that alpha + n beta is met exactly. Constant below the first point,
/// proportional to the bytes beyond the last one. Monotonic if the points are.
struct SizeCurve {
  std::vector<SizePoint> points{};  ///< In ascending order, each size once.

  bool empty() const { return points.empty(); }
  /// Nanoseconds. The curve must not be empty.
  double at(Bytes bytes) const;

  bool operator==(const SizeCurve&) const = default;
};

/// Returns the points with each time raised to at least zero and the times of smaller sizes: a
/// longer vector that seems faster is noise.
SizeCurve rising(std::vector<SizePoint> points);

}  // namespace troika
