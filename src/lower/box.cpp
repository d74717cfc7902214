#include "lower/box.h"

#include <bit>

namespace troika {
namespace {

/// The dimension with the most different begins.
int most_telling_dim(const BoxTable& boxes, std::span<const std::int32_t> ids) {
  int best = 0;
  std::ptrdiff_t most = 0;
  std::vector<std::int32_t> begins(ids.size());
  for (int dim = 0; boxes.dims() > 1 && dim < boxes.dims(); ++dim) {
    auto at = static_cast<std::size_t>(dim);
    std::ranges::transform(ids, begins.begin(),
                           [&](std::int32_t id) { return boxes[id].begin[at]; });
    std::ranges::sort(begins);
    std::ptrdiff_t different = std::unique(begins.begin(), begins.end()) - begins.begin();
    if (different > most) best = dim;
    most = std::max(most, different);
  }
  return best;
}

std::uint64_t hash_of(const Box& box, int dims) {
  std::uint64_t hash = 0x9E3779B97F4A7C15u;
  for (int dim = 0; dim < dims; ++dim) {
    auto at = static_cast<std::size_t>(dim);
    std::uint64_t range = static_cast<std::uint32_t>(box.begin[at]) |
                          std::uint64_t{static_cast<std::uint32_t>(box.end[at])} << 32;
    hash = (std::rotl(hash, 29) ^ range) * 0xD1342543DE82EF95u;
  }
  return hash ^ hash >> 32;
}

}  // namespace

std::int64_t elements(const Box& box, int dims) {
  std::int64_t count = 1;
  for (int dim = 0; dim < dims; ++dim) {
    auto at = static_cast<std::size_t>(dim);
    count *= std::max(box.end[at] - box.begin[at], 0);
  }
  return count;
}

bool overlap(const Box& a, const Box& b, int dims) {
  for (int dim = 0; dim < dims; ++dim) {
    auto at = static_cast<std::size_t>(dim);
    if (std::max(a.begin[at], b.begin[at]) >= std::min(a.end[at], b.end[at])) return false;
  }
  return true;
}

bool contains(const Box& outer, const Box& inner, int dims) {
  for (int dim = 0; dim < dims; ++dim) {
    auto at = static_cast<std::size_t>(dim);
    if (inner.begin[at] < outer.begin[at] || inner.end[at] > outer.end[at]) return false;
  }
  return true;
}

Box intersect(const Box& a, const Box& b, int dims) {
  Box both;
  for (int dim = 0; dim < dims; ++dim) {
    auto at = static_cast<std::size_t>(dim);
    both.begin[at] = std::max(a.begin[at], b.begin[at]);
    both.end[at] = std::min(a.end[at], b.end[at]);
  }
  return both;
}

void subtract(const Box& a, const Box& b, int dims, std::vector<Box>& left) {
  if (!overlap(a, b, dims)) return left.push_back(a);
  // At most two boxes per dimension, before and behind `b`; the rest shrinks towards the overlap.
  Box rest = a;
  for (int dim = 0; dim < dims; ++dim) {
    auto at = static_cast<std::size_t>(dim);
    if (rest.begin[at] < b.begin[at]) {
      left.push_back(rest);
      left.back().end[at] = rest.begin[at] = b.begin[at];
    }
    if (rest.end[at] > b.end[at]) {
      left.push_back(rest);
      left.back().begin[at] = rest.end[at] = b.end[at];
    }
  }
}

std::optional<std::int64_t> find_run(const Box& part, const Box& whole, const Frame& frame) {
  std::int64_t offset = 0;
  bool rows_before = false;  // an earlier dimension of the part is longer than 1
  for (int dim = 0; dim < frame.dims; ++dim) {
    auto at = static_cast<std::size_t>(dim);
    bool differs = part.begin[at] != whole.begin[at] || part.end[at] != whole.end[at];
    if (differs && (rows_before || frame.wide_before[at])) return std::nullopt;
    rows_before = rows_before || part.end[at] - part.begin[at] > 1;
    offset = offset * (whole.end[at] - whole.begin[at]) + part.begin[at] - whole.begin[at];
  }
  return offset;
}

std::int32_t BoxTable::find_or_add(const Box& box) {
  if (2 * boxes_.size() >= slots_.size()) rehash();
  std::size_t slot = slot_of(box);
  if (slots_[slot] < 0) {
    slots_[slot] = size();
    boxes_.push_back(box);
  }
  return slots_[slot];
}

std::size_t BoxTable::slot_of(const Box& box) const {
  std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash_of(box, dims_) & mask;
  while (slots_[slot] >= 0 && !((*this)[slots_[slot]] == box)) slot = (slot + 1) & mask;
  return slot;
}

void BoxTable::rehash() {
  slots_.assign(std::bit_ceil(4 * boxes_.size() + 16), -1);
  for (std::int32_t id = 0; id < size(); ++id) slots_[slot_of((*this)[id])] = id;
}

void BoxIndex::build(const BoxTable& boxes, std::span<const std::int32_t> ids) {
  boxes_ = &boxes;
  dims_ = boxes.dims();
  dim_ = most_telling_dim(boxes, ids);
  auto dim = static_cast<std::size_t>(dim_);
  entries_.clear();
  for (std::size_t at = 0; at < ids.size(); ++at) {
    const Box& box = boxes[ids[at]];
    entries_.push_back(
        {box.begin[dim], dims_ > 0 ? box.end[dim] : 1, ids[at], static_cast<std::int32_t>(at)});
  }
  if (!std::ranges::is_sorted(entries_, {}, &Entry::begin))
    std::ranges::sort(entries_, {},
                      [](const Entry& entry) { return std::pair(entry.begin, entry.position); });
  for (std::size_t at = 1; at < entries_.size(); ++at)
    entries_[at].furthest_end = std::max(entries_[at].furthest_end, entries_[at - 1].furthest_end);
}

}  // namespace troika
