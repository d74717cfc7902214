#include "cost/size_curve.h"

#include <algorithm>

#include "base/error.h"

namespace troika {

double SizeCurve::at(Bytes bytes) const {
  TROIKA_CHECK(!points.empty(), "a curve without points has no times");
  auto next = std::ranges::lower_bound(points, bytes, {}, &SizePoint::bytes);
  if (next == points.begin()) return next->nanoseconds;
  const SizePoint& before = *std::prev(next);
  auto share_of = [](Bytes part, Bytes whole) {
    return static_cast<double>(part.count) / static_cast<double>(whole.count);
  };
  if (next == points.end())
    return before.bytes.count == 0 ? before.nanoseconds
                                   : before.nanoseconds * share_of(bytes, before.bytes);
  double share = share_of(bytes - before.bytes, next->bytes - before.bytes);
  return before.nanoseconds + share * (next->nanoseconds - before.nanoseconds);
}

SizeCurve rising(std::vector<SizePoint> points) {
  std::ranges::sort(points, {}, &SizePoint::bytes);
  double longest = 0;
  for (SizePoint& point : points)
    longest = point.nanoseconds = std::max(longest, point.nanoseconds);
  return {std::move(points)};
}

}  // namespace troika
