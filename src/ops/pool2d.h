// The largest or the average element of each window of an image. Padding never counts as largest.
#pragma once

#include <array>
#include <span>

#include "ops/signature.h"

namespace troika {

enum class PoolKind { max, average };
std::span<const std::string_view> enum_names(PoolKind);

struct Pool2d {
  static constexpr std::string_view kName = "pool2d";
  PoolKind kind = PoolKind::max;
  std::array<std::int64_t, 2> window{1, 1};
  std::array<std::int64_t, 2> stride{1, 1};
  std::array<std::int64_t, 2> pad{0, 0};  ///< Before the first row and column.
  /// Behind the last row and column. Negative (cropped) in some tiles.
  std::array<std::int64_t, 2> pad_end{0, 0};
  /// average: divide by the whole window, even if it extends beyond the image.
  bool include_padding = false;

  static void fields(auto& self, auto&& visit) {
    visit("kind", self.kind);
    visit("window", self.window);
    visit("stride", self.stride);
    visit("pad", self.pad);
    visit("pad_end", self.pad_end);
    visit("include_padding", self.include_padding);
  }
  bool operator==(const Pool2d&) const = default;
};

/// Input x [n,c,h,w]. Backward of max searches x for the first largest element in row-major order
/// again.
Signature signature(const Pool2d& op, std::span<const TensorSpec> inputs);
Pool2d localize(const Pool2d& op, const Signature& signature, const Region& tile);

}  // namespace troika
