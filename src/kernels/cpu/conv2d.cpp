#include <algorithm>

#include "kernels/cpu/convolution.h"
#include "kernels/cpu/epilogue.h"
#include "kernels/cpu/offers.h"

namespace troika {
namespace {

using dnnl::prop_kind;

enum Slots { kX, kWeight, kY };

/// One convolution, asked of oneDNN in several layouts.
class Convolution {
 public:
  Convolution(const Conv2d& op, const Request& request, const Tail& tail)
      : request_(request),
        tail_(tail),
        x_(spec(kX)),
        y_(spec(kY)),
        weight_(spec(kWeight), op.groups),
        bias_(tail.bias ? describe({{op.out}, DType::f32}, Layout::plain) : MemoryDesc()) {
    for (std::size_t dim : {0u, 1u}) {
      std::int64_t reach = (op.kernel[dim] - 1) * op.dilation[dim] + 1;
      // Just what the last window needs, so that inputs which no window sees count as negative padding.
      std::int64_t end = (y_.shape[2 + dim] - 1) * op.stride[dim] + reach - op.pad[dim] - x_.shape[2 + dim];
      window_.strides.push_back(op.stride[dim]);
      window_.dilates.push_back(op.dilation[dim] - 1);
      window_.pad_begin.push_back(op.pad[dim]);
      window_.pad_end.push_back(end);
    }
  }

  /// Adds the best implementation of each kind that works on these layouts, unless it is a plain loop.
  void add(Offers& list, dnnl::algorithm algorithm, LayoutPair layouts, bool even_plain_loops = false) const {
    std::vector<std::string> seen;
    MemoryDesc x = describe(x_, layouts.from), y = describe(y_, layouts.to);
    for (const Implementation& each : find(algorithm, x, y)) {
      std::optional<Layout> stored = weight_.layout_of(weight_desc(each));
      std::string name = convolution_algorithm(each);
      bool wanted = stored && (even_plain_loops || !is_reference(each)) && std::ranges::find(seen, name) == seen.end();
      if (!wanted) continue;
      seen.push_back(name);
      list.push_back(offer_primitive(request_, {.algorithm = name, .layouts = operand_layouts(layouts, *stored)}, each,
                                     bounds(x, weight_.in(*stored), y)));
    }
  }

 private:
  const TensorSpec& spec(std::size_t slot) const { return request_.signature.slots[slot].spec; }

  std::vector<Implementation> find(dnnl::algorithm algorithm, const MemoryDesc& x, const MemoryDesc& y) const {
    const dnnl::engine& engine = request_.context.engine;
    const auto& [strides, dilates, begin, end] = window_;
    if (request_.key.phase == Phase::forward)
      return implementations<dnnl::convolution_forward>(engine, attributes({.activation = tail_.activation}),
                                                        prop_kind::forward_training, algorithm, x, weight_.any(), bias_, y,
                                                        strides, dilates, begin, end);
    auto hint = forward_hint<dnnl::convolution_forward>(engine, prop_kind::forward_training, algorithm, x, weight_.any(), y,
                                                        strides, dilates, begin, end);
    if (request_.key.phase == Phase::backward_data)
      return backward_implementations<dnnl::convolution_backward_data>(engine, hint, algorithm, x, weight_.any(), y, strides,
                                                                       dilates, begin, end);
    return backward_implementations<dnnl::convolution_backward_weights>(engine, hint, algorithm, x, weight_.any(), y,
                                                                        strides, dilates, begin, end);
  }

  MemoryDesc weight_desc(const Implementation& implementation) const {
    return request_.key.phase == Phase::backward_weight ? implementation.diff_weights_desc(0)
                                                        : implementation.weights_desc(0);
  }

  std::vector<Layout> operand_layouts(LayoutPair layouts, Layout stored) const {
    switch (request_.key.phase) {
      case Phase::backward_data: return {layouts.to, stored, layouts.from};
      case Phase::backward_weight: return {layouts.from, layouts.to, stored};
      default: break;
    }
    if (tail_.bias) return {layouts.from, stored, Layout::plain, layouts.to};
    return {layouts.from, stored, layouts.to};
  }

  std::vector<Bound> bounds(const MemoryDesc& x, const MemoryDesc& weight, const MemoryDesc& y) const {
    switch (request_.key.phase) {
      case Phase::backward_data:
        return {{DNNL_ARG_DIFF_DST, 0, y}, {DNNL_ARG_WEIGHTS, 1, weight}, {DNNL_ARG_DIFF_SRC, 2, x}};
      case Phase::backward_weight:
        return {{DNNL_ARG_SRC, 0, x}, {DNNL_ARG_DIFF_DST, 1, y}, {DNNL_ARG_DIFF_WEIGHTS, 2, weight}};
      default: break;
    }
    if (tail_.bias)
      return {{DNNL_ARG_SRC, 0, x}, {DNNL_ARG_WEIGHTS, 1, weight}, {DNNL_ARG_BIAS, 2, bias_}, {DNNL_ARG_DST, 3, y}};
    return {{DNNL_ARG_SRC, 0, x}, {DNNL_ARG_WEIGHTS, 1, weight}, {DNNL_ARG_DST, 2, y}};
  }

  const Request& request_;
  Tail tail_;
  TensorSpec x_, y_;
  ConvolutionWeight weight_;
  MemoryDesc bias_;
  WindowDims window_;
};

}  // namespace

Offers offers(const Conv2d& op, const Request& request) {
  std::optional<Tail> tail = tail_of(request.key, 1);
  if (!tail) return {};
  Convolution convolution(op, request, *tail);
  Offers list;
  for (LayoutPair layouts : kConvolutionLayouts) {
    if (layouts.to == Layout::blocked8 && has_wide(list)) continue;
    convolution.add(list, dnnl::algorithm::convolution_direct, layouts);
    if (request.context.winograd) convolution.add(list, dnnl::algorithm::convolution_winograd, layouts);
  }
  if (list.empty())
    convolution.add(list, dnnl::algorithm::convolution_direct, {Layout::plain, Layout::plain}, /*even_plain_loops=*/true);
  return list;
}

}  // namespace troika
