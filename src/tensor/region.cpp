#include "tensor/region.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace troika {

Range intersect(Range a, Range b) {
  Range both{std::max(a.begin, b.begin), std::min(a.end, b.end)};
  // All empty ranges are normalised to extent 0, never negative.
  return both.empty() ? Range{both.begin, both.begin} : both;
}

Range part_of(std::int64_t extent, std::int64_t index, std::int64_t parts) {
  std::int64_t size = extent / parts, larger = extent % parts;
  std::int64_t begin = index * size + std::min(index, larger);
  return {begin, begin + size + (index < larger ? 1 : 0)};
}

Region Region::whole(const Shape& shape) {
  Region region;
  region.ranges.reserve(shape.rank());
  for (std::int64_t extent : shape) region.ranges.push_back({0, extent});
  return region;
}

Shape Region::shape() const {
  Shape shape;
  for (Range range : ranges) shape.push_back(std::max<std::int64_t>(range.extent(), 0));
  return shape;
}

bool Region::empty() const {
  return std::ranges::any_of(ranges, [](Range range) { return range.empty(); });
}

Region intersect(const Region& a, const Region& b) {
  TROIKA_CHECK_EQ(a.rank(), b.rank());
  Region both;
  for (std::size_t dim = 0; dim < a.rank(); ++dim) both.ranges.push_back(intersect(a[dim], b[dim]));
  return both;
}

Region within(const Region& region, const Region& outer) {
  Region local = region;
  for (std::size_t dim = 0; dim < region.rank(); ++dim) {
    local.ranges[dim].begin -= outer[dim].begin;
    local.ranges[dim].end -= outer[dim].begin;
  }
  return local;
}

bool contains(const Region& outer, const Region& inner) {
  return inner.empty() || intersect(outer, inner) == inner;
}

std::vector<Region> subtract(const Region& a, const Region& b) {
  Region both = intersect(a, b);
  if (a.empty()) return {};
  if (both.empty()) return {a};
  // At most two boxes per dimension: before and behind `both`.
  std::vector<Region> boxes;
  Region left = a;  // the rest of `a`, which shrinks towards `both` one dimension at a time
  for (std::size_t dim = 0; dim < a.rank(); ++dim) {
    for (Range range : {Range{left[dim].begin, both[dim].begin}, {both[dim].end, left[dim].end}}) {
      if (range.empty()) continue;
      boxes.push_back(left);
      boxes.back().ranges[dim] = range;
    }
    left.ranges[dim] = both[dim];
  }
  return boxes;
}

std::vector<Region> subtract(const Region& a, const std::vector<Region>& others) {
  // Invariant: `left` is disjoint and is `a` without the others so far.
  std::vector<Region> left{a};
  for (const Region& other : others) {
    std::vector<Region> next;
    for (const Region& box : left)
      std::ranges::move(subtract(box, other), std::back_inserter(next));
    left = std::move(next);
    if (left.empty()) break;
  }
  return left;
}

// Each box begins at the first element left and has as many whole indices of one dimension as fit,
// the outermost one that has room for one.
std::vector<RunBox> boxes_of_run(const Region& region, Range run) {
  std::vector<RunBox> boxes;
  if (region.rank() == 0 && !run.empty()) return {{region, 0}};
  for (std::int64_t at = run.begin; at < run.end;) {
    std::size_t dim = 0;
    std::int64_t inner = region.elements() / region[0].extent();  // elements of one index
    while (at % inner != 0 || at + inner > run.end) inner /= region[++dim].extent();
    std::int64_t extent = region[dim].extent(), first = at / inner % extent;
    std::int64_t count = std::min(extent - first, (run.end - at) / inner);
    RunBox made{region, at - run.begin};
    made.box.ranges[dim] = {region[dim].begin + first, region[dim].begin + first + count};
    std::int64_t outer = at / inner / extent;
    for (std::size_t each = dim; each-- > 0; outer /= region[each].extent()) {
      std::int64_t index = region[each].begin + outer % region[each].extent();
      made.box.ranges[each] = {index, index + 1};
    }
    boxes.push_back(std::move(made));
    at += count * inner;
  }
  return boxes;
}

std::string to_string(const Region& region) {
  std::string text;
  for (Range range : region.ranges)
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", range.begin, range.end);
  return "[" + text + "]";
}

}  // namespace troika
