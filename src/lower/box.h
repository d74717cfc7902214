// Boxes of a tensor along the dimensions that splits cut: what two of them share, what is left, how
// they lie in memory, and lists of boxes that can be searched.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tensor/shape.h"

namespace troika {

/// The dimensions of a tensor that at least one split cuts. All other dimensions are whole for
/// everybody: they only scale the number of elements, so tensors that differ in them alone have
/// equal frames.
struct Frame {
  int dims = 0;
  std::array<std::int32_t, kMaxRank> extents{};
  /// A dimension outside the frame, longer than 1, lies in front of this one: parts along this one
  /// are then not contiguous in memory.
  std::array<bool, kMaxRank> wide_before{};

  bool operator==(const Frame&) const = default;
};

/// A box of a tensor, along the dimensions of its frame. Unused dimensions are zero.
struct Box {
  std::array<std::int32_t, kMaxRank> begin{};
  std::array<std::int32_t, kMaxRank> end{};

  bool operator==(const Box&) const = default;
};

// `dims` is that of the frame everywhere. Without dimensions a box has one element.

std::int64_t elements(const Box& box, int dims);
bool overlap(const Box& a, const Box& b, int dims);
bool contains(const Box& outer, const Box& inner, int dims);
/// Precondition: they overlap.
Box intersect(const Box& a, const Box& b, int dims);
/// Appends `a` without `b`, as disjoint boxes.
void subtract(const Box& a, const Box& b, int dims, std::vector<Box>& left);

/// Where a part begins in the memory of the whole box, in elements of the frame. Nothing: it is not
/// one contiguous run there.
std::optional<std::int64_t> find_run(const Box& part, const Box& whole, const Frame& frame);

/// Boxes, each once, referred to by index.
class BoxTable {
 public:
  BoxTable(std::vector<Box> boxes, int dims) : boxes_(std::move(boxes)), dims_(dims) {}

  const Box& operator[](std::int32_t id) const { return boxes_[static_cast<std::size_t>(id)]; }
  std::int32_t size() const { return static_cast<std::int32_t>(boxes_.size()); }
  int dims() const { return dims_; }
  std::int64_t elements(std::int32_t id) const { return troika::elements((*this)[id], dims_); }
  /// The index of the box, which is added if it is new.
  std::int32_t find_or_add(const Box& box);
  std::vector<Box> take() && { return std::move(boxes_); }

 private:
  std::size_t slot_of(const Box& box) const;
  void rehash();

  std::vector<Box> boxes_;
  int dims_;
  std::vector<std::int32_t> slots_;  // open addressing; empty before the first look-up
};

/// Finds those of a list of boxes that overlap a given one. They are sorted along the dimension
/// that tells most of them apart, so a query visits few others where that is a cut dimension.
class BoxIndex {
 public:
  void build(const BoxTable& boxes, std::span<const std::int32_t> ids);

  /// Calls visit(position in `ids`), in no particular order.
  template <class Visit>
  void for_each_overlap(const Box& box, Visit&& visit) const {
    if (entries_.empty()) return;
    auto dim = static_cast<std::size_t>(dim_);
    std::int32_t begin = dims_ > 0 ? box.begin[dim] : 0, end = dims_ > 0 ? box.end[dim] : 1;
    auto last = std::ranges::lower_bound(entries_, end, {}, &Entry::begin);
    while (last != entries_.begin()) {
      --last;
      if (last->furthest_end <= begin) return;
      if (overlap(box, (*boxes_)[last->box], dims_)) visit(last->position);
    }
  }

 private:
  struct Entry {
    std::int32_t begin, furthest_end;  // along the dimension; the latter of all up to this one
    std::int32_t box, position;
  };

  const BoxTable* boxes_ = nullptr;
  int dims_ = 0;
  int dim_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace troika
