// What conv2d and conv_transpose2d share: pairs of activation layouts to try, and which of our layouts a weight has.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "kernels/cpu/offer.h"

namespace troika {

struct LayoutPair {
  Layout from, to;
};

/// Best first by rule: vectors of channels, as wide as the machine has them; an image of few channels may stay plain.
inline constexpr std::array<LayoutPair, 6> kConvolutionLayouts{{{Layout::blocked16, Layout::blocked16},
                                                                {Layout::plain, Layout::blocked16},
                                                                {Layout::blocked8, Layout::blocked8},
                                                                {Layout::plain, Layout::blocked8},
                                                                {Layout::channels_last, Layout::channels_last},
                                                                {Layout::plain, Layout::plain}}};

/// Strides and paddings as oneDNN takes them.
struct WindowDims {
  dnnl::memory::dims strides, dilates, pad_begin, pad_end;
};

/// The weight of a convolution as oneDNN describes it.
class ConvolutionWeight {
 public:
  ConvolutionWeight(const TensorSpec& spec, std::int64_t groups) : spec_(spec), groups_(groups) {}

  MemoryDesc any() const;
  MemoryDesc in(Layout layout) const;
  /// The layout of our list that this is; empty when there is none.
  std::optional<Layout> layout_of(const MemoryDesc& desc) const;

 private:
  std::optional<MemoryDesc> describe_in(Layout layout) const;

  TensorSpec spec_;
  std::int64_t groups_;
};

/// "direct", "gemm", "brgemm", "winograd"; by the name that oneDNN gives the implementation.
std::string convolution_algorithm(const Implementation& implementation);

/// Whether the list has a candidate of this algorithm with channels in vectors of 16, which makes narrower ones pointless.
bool has_wide(const Offers& list);

}  // namespace troika
