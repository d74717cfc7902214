// y[n,o,h,w] = sum over i,kh,kw of x[n, i, h*stride - pad + kh*dilation, …] * weight[o,i,kh,kw];
// with groups, the channels of x and y are divided into that many independent blocks. The bias is a
// separate operator, as for linear.
#pragma once

#include <array>
#include <span>

#include "ops/signature.h"
#include "ops/window.h"

namespace troika {

struct Conv2d {
  static constexpr std::string_view kName = "conv2d";
  std::int64_t out = 0;
  std::array<std::int64_t, 2> kernel{1, 1};
  std::array<std::int64_t, 2> stride{1, 1};
  std::array<std::int64_t, 2> pad{0, 0};  ///< Before the first row and column.
  /// Behind the last row and column. Negative (cropped) in some tiles.
  std::array<std::int64_t, 2> pad_end{0, 0};
  std::array<std::int64_t, 2> dilation{1, 1};
  std::int64_t groups = 1;

  static void fields(auto& self, auto&& visit) {
    visit("out", self.out);
    visit("kernel", self.kernel);
    visit("stride", self.stride);
    visit("pad", self.pad);
    visit("pad_end", self.pad_end);
    visit("dilation", self.dilation);
    visit("groups", self.groups);
  }
  bool operator==(const Conv2d&) const = default;
};

/// Input x [n,c,h,w], weight [out, c/groups, kernel…]. Axes n, h, w and, without groups, o and i;
/// else g.
Signature signature(const Conv2d& op, std::span<const TensorSpec> inputs);
Conv2d localize(const Conv2d& op, const Signature& signature, const Region& tile);

}  // namespace troika
