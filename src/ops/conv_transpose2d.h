// Transposed convolution, which enlarges images: y[n,o,h,w] = sum of x[n,i,r,s] *
// weight[i,o,kh,kw] over all r, kh with h = r*stride - pad + kh, and likewise for w. The bias is a
// separate operator.
#pragma once

#include <array>
#include <span>

#include "ops/signature.h"

namespace troika {

struct ConvTranspose2d {
  static constexpr std::string_view kName = "conv_transpose2d";
  std::int64_t out = 0;
  std::array<std::int64_t, 2> kernel{1, 1};
  std::array<std::int64_t, 2> stride{1, 1};
  /// Rows and columns cut from the beginning and the end of the full result; negative values add
  /// zeros. PyTorch's output_padding p is pad_end = pad - p.
  std::array<std::int64_t, 2> pad{0, 0};
  std::array<std::int64_t, 2> pad_end{0, 0};

  static void fields(auto& self, auto&& visit) {
    visit("out", self.out);
    visit("kernel", self.kernel);
    visit("stride", self.stride);
    visit("pad", self.pad);
    visit("pad_end", self.pad_end);
  }
  bool operator==(const ConvTranspose2d&) const = default;
};

/// Input x [n,c,h,w], weight [c, out, kernel…]. Axes n, h, w (of the output), o, i.
Signature signature(const ConvTranspose2d& op, std::span<const TensorSpec> inputs);
ConvTranspose2d localize(const ConvTranspose2d& op, const Signature& signature, const Region& tile);

}  // namespace troika
