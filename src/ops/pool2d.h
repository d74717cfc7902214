// The largest or the average element of each window of an image; padding is never the largest.
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
  std::array<std::int64_t, 2> pad{0, 0};  ///< Before the first row and column,
  std::array<std::int64_t, 2> pad_end{
      0, 0};  ///< and behind the last ones; negative (cropped) in some tiles.
  bool include_padding =
      false;  ///< average: divide by the whole window also where it leaves the image.

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

/// Input x [n,c,h,w]. Backward of max finds the first largest element (in row-major order) again,
/// from x.
Signature signature(const Pool2d& op, std::span<const TensorSpec> inputs);
Pool2d localize(const Pool2d& op, const Signature& signature, const Region& tile);

}  // namespace troika
