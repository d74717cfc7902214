#include "kernels/cpu/convolution.h"

#include <algorithm>

#include "kernels/cpu/layouts.h"

namespace troika {

std::optional<MemoryDesc> ConvolutionWeight::describe_in(Layout layout) const {
  if (groups_ > 1) return describe_grouped(spec_, layout, groups_);
  return describe(spec_, layout);
}

MemoryDesc ConvolutionWeight::any() const {
  const Shape& shape = spec_.shape;
  if (groups_ == 1) return describe_any(shape);
  return describe_any({groups_, shape[0] / groups_, shape[1], shape[2], shape[3]});
}

MemoryDesc ConvolutionWeight::in(Layout layout) const { return describe_in(layout).value(); }

std::optional<Layout> ConvolutionWeight::layout_of(const MemoryDesc& desc) const {
  for (Layout layout : parameter_layouts(spec_.shape)) {
    if (describe_in(layout) == desc) return layout;
  }
  return std::nullopt;
}

std::string convolution_algorithm(const Implementation& implementation) {
  std::string_view name = implementation.impl_info_str();
  auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (has("wino")) return "winograd";
  if (has("brg")) return "brgemm";
  if (has("gemm")) return "gemm";
  return has("ref") ? "plain" : "direct";
}

bool has_wide(const Offers& list) {
  return std::ranges::any_of(list, [](const Offer& offer) {
    return std::ranges::find(offer.candidate.layouts, Layout::blocked16) != offer.candidate.layouts.end();
  });
}

}  // namespace troika
