#include "tensor/shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"

namespace troika {

Shape::Shape(std::span<const std::int64_t> dims) : rank_(dims.size()) {
  TROIKA_CHECK(dims.size() <= kMaxRank,
               fmt::format("rank {} is over the limit of {}", dims.size(), kMaxRank));
  std::ranges::copy(dims, dims_.begin());
}

void Shape::push_back(std::int64_t extent) {
  TROIKA_CHECK(rank_ < kMaxRank);
  dims_[rank_++] = extent;
}

std::int64_t Shape::elements() const { return product(0, rank_); }

std::int64_t Shape::product(std::size_t first, std::size_t last) const {
  // With 56 bits neither the bytes nor small multiples of the elements overflow.
  constexpr std::int64_t kMostElements = std::int64_t{1} << 56;
  std::int64_t product = 1;
  for (std::size_t dim = first; dim < last; ++dim) {
    bool is_wide = __builtin_mul_overflow(product, dims_[dim], &product);
    if (is_wide || product > kMostElements)
      throw Error(ErrorKind::usage, fmt::format("a tensor of shape {} has more than 2^56 elements",
                                                to_string(*this)));
  }
  return product;
}

Shape Shape::merged(std::size_t count) const {
  if (count <= 1) return *this;
  Shape shape{product(0, count)};
  for (std::size_t dim = count; dim < rank_; ++dim) shape.push_back(dims_[dim]);
  return shape;
}

std::array<std::int64_t, kMaxRank> Shape::strides() const {
  std::array<std::int64_t, kMaxRank> strides{};
  std::int64_t step = 1;
  for (std::size_t dim = rank_; dim-- > 0;) {
    // Row-major: the last dimension is contiguous.
    strides[dim] = step;
    step *= dims_[dim];
  }
  return strides;
}

std::string to_string(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape.begin(), shape.end(), ","));
}

Shape parse_shape(std::string_view text) {
  auto refuse = [&]() -> Error {
    return {ErrorKind::file, fmt::format("'{}' is not a shape such as [8,3,32,32]", text)};
  };
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') throw refuse();
  Shape shape;
  const char* at = text.data() + 1;
  const char* end = text.data() + text.size() - 1;
  // Extents separated by single commas; a comma at the end is an error.
  while (at != end) {
    std::int64_t extent = 0;
    auto [next, status] = std::from_chars(at, end, extent);
    if (status != std::errc{} || extent < 0 || shape.rank() == kMaxRank) throw refuse();
    shape.push_back(extent);
    if (next != end && (*next != ',' || next + 1 == end)) throw refuse();
    at = next == end ? end : next + 1;
  }
  return shape;
}

}  // namespace troika
