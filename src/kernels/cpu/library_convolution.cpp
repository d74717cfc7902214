// oneDNN lists its implementations for each pair of layouts of image and output. It chooses the
// layout of the weight; implementations whose choice is not one of ours are left out.
#include <fmt/format.h>

#include <algorithm>

#include "kernels/cpu/convolution_algorithms.h"
#include "kernels/cpu/offers.h"

namespace troika {
namespace {

using dnnl::prop_kind;
using Result = Convolution::Result;

struct LayoutPair {
  Layout image, output;
};

/// Vectors of channels, the widest first. An image of few channels may stay plain.
constexpr std::array<LayoutPair, 6> kLayoutPairs{{{Layout::blocked16, Layout::blocked16},
                                                  {Layout::plain, Layout::blocked16},
                                                  {Layout::blocked8, Layout::blocked8},
                                                  {Layout::plain, Layout::blocked8},
                                                  {Layout::channels_last, Layout::channels_last},
                                                  {Layout::plain, Layout::plain}}};

/// Derived from the name that oneDNN gives the implementation.
std::string algorithm_of(const Implementation& implementation) {
  std::string_view name = implementation.impl_info_str();
  auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (has("wino")) return "winograd";
  if (has("brg")) return "brgemm";
  if (has("gemm")) return "gemm";
  return has("ref") ? "plain" : "direct";
}

bool is_strided(const Convolution& convolution) {
  return convolution.stride[0] > 1 || convolution.stride[1] > 1;
}

/// oneDNN's 1x1 kernels copy a strided image into a workspace of rows as long as the image has
/// channels, but for weight gradients they address it in rows as long as a block of channels. With
/// fewer channels than a block they write past the part of the thread: into another thread's, past
/// the scratch, or over the barrier of the final sum, on which they then hang. Found in 2.6.3 on
/// AVX2 and AVX-512; open in later versions as issue 6035 of uxlfoundation/oneDNN.
std::optional<std::string> why_unsafe(const Implementation& implementation,
                                      const Convolution& convolution, LayoutPair layouts,
                                      Layout stored) {
  std::string_view name = implementation.impl_info_str();
  const std::int64_t block = stored == Layout::weight_io16 ? 16 : 8;
  if (!name.starts_with("jit_1x1") || convolution.result != Result::weight ||
      layouts.image != Layout::channels_last || !is_strided(convolution) ||
      convolution.image.shape[1] >= block)
    return std::nullopt;
  return fmt::format(
      "oneDNN's {} writes past its workspace in the weight gradient of a strided convolution of "
      "fewer than {} channels",
      name, block);
}

/// Searches oneDNN's implementations of one convolution in several layouts.
class Search {
 public:
  Search(const Convolution& convolution, const Request& request)
      : c_(convolution), request_(request) {
    for (std::size_t dim : {0u, 1u}) {
      std::int64_t reach = (c_.weight.shape[2 + dim] - 1) * c_.dilation[dim] + 1;
      strides_.push_back(c_.stride[dim]);
      dilates_.push_back(c_.dilation[dim] - 1);
      pad_begin_.push_back(c_.pad[dim]);
      // Only as much as the last window needs: elements that no window covers count as negative
      // padding.
      pad_end_.push_back((c_.output.shape[2 + dim] - 1) * c_.stride[dim] + reach - c_.pad[dim] -
                         c_.image.shape[2 + dim]);
    }
    if (c_.tail.bias) bias_ = describe({{c_.weight.shape[0]}, DType::f32}, Layout::plain);
  }

  /// oneDNN cannot crop the image before the first element, and after the last one by less than a
  /// stride.
  bool possible() const {
    bool fits = true;
    for (std::size_t dim : {0u, 1u})
      fits = fits && pad_begin_[dim] >= 0 && pad_end_[dim] + strides_[dim] >= 0;
    return fits;
  }

  /// Adds the best implementation of each kind that works on these layouts, unless it is a plain
  /// loop.
  void add(Offers& list, dnnl::algorithm algorithm, LayoutPair layouts,
           bool even_plain_loops = false) const {
    // oneDNN lists them in its order of preference, so the first one of a kind is the best.
    std::vector<std::string> seen;
    MemoryDesc image = describe(c_.image, layouts.image),
               output = describe(c_.output, layouts.output);
    for (const Implementation& each : find(algorithm, image, output)) {
      std::optional<Layout> stored = weight_layout(each);
      std::string name = algorithm_of(each);
      bool wanted = stored && (even_plain_loops || !is_reference(each)) &&
                    std::ranges::find(seen, name) == seen.end() &&
                    !why_unsafe(each, c_, layouts, *stored);
      if (!wanted) continue;
      seen.push_back(name);
      list.push_back(offer_primitive(
          request_, {.algorithm = name, .layouts = operand_layouts(layouts, *stored)}, each,
          bounds(image, weight_in(*stored).value(), output)));
    }
  }

  /// Lists the implementations that `add` omits because they are wrong.
  void add_unsafe(std::vector<DeclinedAlgorithm>& list, LayoutPair layouts) const {
    MemoryDesc image = describe(c_.image, layouts.image),
               output = describe(c_.output, layouts.output);
    for (const Implementation& each : find(dnnl::algorithm::convolution_direct, image, output)) {
      std::optional<Layout> stored = weight_layout(each);
      if (!stored) continue;
      if (std::optional<std::string> reason = why_unsafe(each, c_, layouts, *stored))
        list.push_back({fmt::format("{} {}", algorithm_of(each), to_string(layouts.image)),
                        std::move(*reason)});
    }
  }

 private:
  std::vector<Implementation> find(dnnl::algorithm algorithm, const MemoryDesc& image,
                                   const MemoryDesc& output) const {
    const dnnl::engine& engine = request_.context.engine;
    MemoryDesc weight = any_weight();
    if (c_.result == Result::output)
      return implementations<dnnl::convolution_forward>(
          engine, attributes({.activation = c_.tail.activation}), prop_kind::forward_training,
          algorithm, image, weight, bias_, output, strides_, dilates_, pad_begin_, pad_end_);
    auto hint = forward_hint<dnnl::convolution_forward>(engine, prop_kind::forward_training,
                                                        algorithm, image, weight, output, strides_,
                                                        dilates_, pad_begin_, pad_end_);
    if (c_.result == Result::image)
      return backward_implementations<dnnl::convolution_backward_data>(
          engine, hint, algorithm, image, weight, output, strides_, dilates_, pad_begin_, pad_end_);
    return backward_implementations<dnnl::convolution_backward_weights>(
        engine, hint, algorithm, image, weight, output, strides_, dilates_, pad_begin_, pad_end_);
  }

  /// oneDNN has groups as an additional first dimension.
  MemoryDesc any_weight() const {
    const Shape& shape = c_.weight.shape;
    if (c_.groups == 1) return describe_any(shape);
    return describe_any({c_.groups, shape[0] / c_.groups, shape[1], shape[2], shape[3]});
  }
  std::optional<MemoryDesc> weight_in(Layout layout) const {
    if (c_.groups == 1) return describe(c_.weight, layout);
    return describe_grouped(c_.weight, layout, c_.groups);
  }
  /// Returns the weight layout that the implementation needs, or nothing if we do not have it.
  std::optional<Layout> weight_layout(const Implementation& implementation) const {
    MemoryDesc wanted = c_.result == Result::weight ? implementation.diff_weights_desc(0)
                                                    : implementation.weights_desc(0);
    for (Layout layout : parameter_layouts(c_.weight.shape)) {
      if (weight_in(layout) == wanted) return layout;
    }
    return std::nullopt;
  }

  std::vector<Layout> operand_layouts(LayoutPair layouts, Layout stored) const {
    std::vector<Layout> list(request_.operands.size(), Layout::plain);
    list[c_.image_at] = layouts.image;
    list[c_.weight_at] = stored;
    list[c_.output_at] = layouts.output;
    return list;
  }

  std::vector<Bound> bounds(const MemoryDesc& image, const MemoryDesc& weight,
                            const MemoryDesc& output) const {
    bool of_image = c_.result == Result::image, of_weight = c_.result == Result::weight;
    std::vector<Bound> list{
        {of_image ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, c_.image_at, image},
        {of_weight ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, c_.weight_at, weight},
        {of_image || of_weight ? DNNL_ARG_DIFF_DST : DNNL_ARG_DST, c_.output_at, output}};
    if (c_.tail.bias) list.push_back({DNNL_ARG_BIAS, 2, bias_});
    return list;
  }

  const Convolution& c_;
  const Request& request_;
  MemoryDesc bias_;
  dnnl::memory::dims strides_, dilates_, pad_begin_, pad_end_;
};

bool has_blocked16(const Offers& list) {
  return std::ranges::any_of(list, [](const Offer& offer) {
    return std::ranges::find(offer.candidate.layouts, Layout::blocked16) !=
           offer.candidate.layouts.end();
  });
}

/// Whether some kernel leaves its image or output plain; any kernel does for a weight.
bool leaves_plain(const Offers& list, const Convolution& convolution) {
  if (convolution.result == Convolution::Result::weight) return !list.empty();
  std::size_t result = convolution.result == Convolution::Result::image ? convolution.image_at
                                                                        : convolution.output_at;
  return std::ranges::any_of(
      list, [&](const Offer& offer) { return offer.candidate.layouts[result] == Layout::plain; });
}

Offers offers_by(dnnl::algorithm algorithm, const Convolution& convolution,
                 const Request& request) {
  Search search(convolution, request);
  Offers list;
  for (LayoutPair layouts : kLayoutPairs) {
    // If the machine has vectors of 16, narrower ones are not needed.
    if (layouts.output == Layout::blocked8 && has_blocked16(list)) continue;
    search.add(list, algorithm, layouts);
  }
  // Slow is better than none: tiles of other shapes may need the result to lie plain as theirs
  // does.
  if (algorithm == dnnl::algorithm::convolution_direct && !leaves_plain(list, convolution))
    search.add(list, algorithm, {Layout::plain, Layout::plain}, true);
  return list;
}

}  // namespace

std::optional<std::string> why_not_direct(const Convolution& convolution, const Request& request) {
  if (Search(convolution, request).possible()) return std::nullopt;
  return "oneDNN needs padding that does not crop the image";
}

Offers direct_offers(const Convolution& convolution, const Request& request) {
  return offers_by(dnnl::algorithm::convolution_direct, convolution, request);
}

std::vector<DeclinedAlgorithm> unsafe_direct_kernels(const Convolution& convolution,
                                                     const Request& request) {
  std::vector<DeclinedAlgorithm> list;
  Search search(convolution, request);
  if (!search.possible()) return list;
  for (LayoutPair layouts : kLayoutPairs) search.add_unsafe(list, layouts);
  return list;
}

std::optional<std::string> why_not_library_winograd(const Convolution& convolution,
                                                    const Request& request) {
  if (std::optional<std::string> reason = why_not_winograd(convolution, request)) return reason;
  return why_not_direct(convolution, request);
}

Offers library_winograd_offers(const Convolution& convolution, const Request& request) {
  return offers_by(dnnl::algorithm::convolution_winograd, convolution, request);
}

}  // namespace troika
