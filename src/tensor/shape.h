// The extents of a tensor, as a small value without allocation.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace troika {

inline constexpr std::size_t kMaxRank = 8;

/// At most kMaxRank extents, each >= 0. A scalar has rank 0 and one element.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const std::int64_t> dims);

  std::size_t rank() const { return rank_; }
  std::int64_t operator[](std::size_t dim) const { return dims_[dim]; }
  std::int64_t& operator[](std::size_t dim) { return dims_[dim]; }
  std::int64_t back() const { return dims_[rank_ - 1]; }
  const std::int64_t* begin() const { return dims_.data(); }
  const std::int64_t* end() const { return dims_.data() + rank_; }

  void push_back(std::int64_t extent);
  std::int64_t elements() const;
  /// Row-major strides, in elements.
  std::array<std::int64_t, kMaxRank> strides() const;
  /// The product of extents of dimensions [first, last). Throws Error(usage) if it is above 2^56.
  std::int64_t product(std::size_t first, std::size_t last) const;
  /// The same elements with the first `count` dimensions as one.
  Shape merged(std::size_t count) const;

  bool operator==(const Shape&) const = default;

 private:
  std::array<std::int64_t, kMaxRank> dims_{};
  std::size_t rank_ = 0;
};

/// "[8,3,224,224]"
std::string to_string(const Shape& shape);
/// The inverse of to_string. Throws Error(file) if the text is not a shape.
Shape parse_shape(std::string_view text);

}  // namespace troika
