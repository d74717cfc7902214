#include "data/canvas.h"

#include <algorithm>
#include <cmath>

namespace troika::data {
namespace {

double squared_distance_to_line(Point p, Point from, Point to) {
  double dx = to.x - from.x;
  double dy = to.y - from.y;
  double length = dx * dx + dy * dy;
  double along =
      length > 0 ? std::clamp(((p.x - from.x) * dx + (p.y - from.y) * dy) / length, 0.0, 1.0) : 0.0;
  double ex = p.x - from.x - along * dx;
  double ey = p.y - from.y - along * dy;
  return ex * ex + ey * ey;
}

}  // namespace

void Canvas::draw_line(Point from, Point to, double radius) {
  // A pixel is full up to radius - 0.5 from the line and empty from radius + 0.5 on; the ramp of
  // one pixel between them smooths the edge.
  double reach = radius + 0.5;
  auto first = [&](double a, double b) {
    return static_cast<int>(std::clamp(std::ceil(std::min(a, b) - reach), 0.0, kSide - 0.0));
  };
  auto last = [&](double a, double b) {
    return static_cast<int>(std::clamp(std::floor(std::max(a, b) + reach), -1.0, kSide - 1.0));
  };
  for (int y = first(from.y, to.y); y <= last(from.y, to.y); ++y)
    for (int x = first(from.x, to.x); x <= last(from.x, to.x); ++x) {
      double& pixel = pixels_[static_cast<std::size_t>(y * kSide + x)];
      if (pixel >= 1) continue;  // as most are: neighbouring lines cover the same pixels
      double distance = squared_distance_to_line({x + 0.0, y + 0.0}, from, to);
      if (distance >= reach * reach) continue;
      // The maximum and not the sum: where lines cross, the ink does not become darker.
      pixel = std::max(pixel, std::min(reach - std::sqrt(distance), 1.0));
    }
}

}  // namespace troika::data
