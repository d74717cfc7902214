// A box inside a tensor or an iteration space: one half-open range per dimension.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/shape.h"

namespace troika {

struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t extent() const { return end - begin; }
  bool empty() const { return end <= begin; }
  bool operator==(const Range&) const = default;
};

Range intersect(Range a, Range b);
/// Returns part `index` of `parts` nearly equal parts of [0, extent). If `parts` does not divide
/// the extent, the first parts are larger by one.
Range part_of(std::int64_t extent, std::int64_t index, std::int64_t parts);

struct Region {
  std::vector<Range> ranges;

  static Region whole(const Shape& shape);
  std::size_t rank() const { return ranges.size(); }
  Range operator[](std::size_t dim) const { return ranges[dim]; }
  Shape shape() const;
  std::int64_t elements() const { return shape().elements(); }
  bool empty() const;
  bool operator==(const Region&) const = default;
};

Region intersect(const Region& a, const Region& b);
bool contains(const Region& outer, const Region& inner);
/// Returns the region with indices that count from the begin of `outer`.
Region within(const Region& region, const Region& outer);
/// Returns `a` without `b`, as disjoint boxes.
std::vector<Region> subtract(const Region& a, const Region& b);
/// Returns `a` without all of the others, as disjoint boxes.
std::vector<Region> subtract(const Region& a, const std::vector<Region>& others);
/// Part of a run of a region's elements in row-major order: a box, and where in the run it begins.
struct RunBox {
  Region box;
  std::int64_t offset = 0;

  bool operator==(const RunBox&) const = default;
};
/// Returns the elements [run.begin, run.end) of the region as boxes, in their order: at most two
/// per dimension.
std::vector<RunBox> boxes_of_run(const Region& region, Range run);
/// "[0:4,2:3]"
std::string to_string(const Region& region);

/// Calls visit(offset, length) for each contiguous run of `region` inside a row-major tensor of
/// `shape`, in row-major order; both in elements.
template <class Visit>
void for_each_run(const Shape& shape, const Region& region, Visit&& visit) {
  if (region.empty()) return;
  if (shape.rank() == 0) return visit(std::int64_t{0}, std::int64_t{1});
  auto strides = shape.strides();
  std::size_t last = shape.rank() - 1;
  std::array<std::int64_t, kMaxRank> at{};
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) at[dim] = region[dim].begin;
  while (true) {
    std::int64_t offset = 0;
    for (std::size_t dim = 0; dim < shape.rank(); ++dim) offset += at[dim] * strides[dim];
    visit(offset, region[last].extent());
    std::size_t dim = last;
    while (dim > 0 && ++at[dim - 1] == region[dim - 1].end) {
      at[dim - 1] = region[dim - 1].begin;
      --dim;
    }
    if (dim == 0) return;
  }
}

}  // namespace troika
