// Three implementations compete: oneDNN's inner product and matmul, and our packed product, each
// with the weight plain or transposed. Timing decides.
#include "kernels/cpu/epilogue.h"
#include "kernels/cpu/offers.h"
#include "kernels/cpu/packed_offer.h"

namespace troika {
namespace {

using dnnl::prop_kind;

constexpr Layout opposite(Layout layout) {
  return layout == Layout::plain ? Layout::transposed : Layout::plain;
}

/// The three matrices, all leading dimensions of the input taken as rows.
struct Matrices {
  TensorSpec x, weight, y;
  Layout stored;  ///< The layout of the weight.

  Matrices(const Request& request, Layout layout)
      : weight(request.signature.slots[1].spec), stored(layout) {
    std::int64_t rows = request.key.inputs[0].shape.elements() / weight.shape[1];
    x = {{rows, weight.shape[1]}, DType::f32};
    y = {{rows, weight.shape[0]}, DType::f32};
  }
  std::int64_t rows() const { return x.shape[0]; }
  std::int64_t inputs() const { return weight.shape[1]; }
  std::int64_t outputs() const { return weight.shape[0]; }

  MemoryDesc weight_desc() const { return describe(weight, stored); }
  /// The weight, outputs x inputs, as a factor of our packed product.
  PackedFactor packed_weight() const {
    return stored == Layout::plain ? PackedFactor{1, inputs(), 1} : PackedFactor{1, 1, outputs()};
  }
  /// The weight as the second factor of y = x * w, in the same memory: exchanging the dimensions
  /// turns a plain matrix into a transposed one and vice versa.
  MemoryDesc turned_weight() const {
    return describe({{weight.shape[1], weight.shape[0]}, DType::f32}, opposite(stored));
  }
};

/// The first implementation that is not a plain loop, as a candidate.
void add_best(Offers& list, const Request& request, const Candidate& candidate,
              const std::vector<Implementation>& found, const std::vector<Bound>& bounds) {
  for (const Implementation& each : found) {
    if (is_reference(each)) continue;
    list.push_back(offer_primitive(request, candidate, each, bounds));
    return;
  }
}

void add_forward(Offers& list, const Request& request, const Matrices& m, const Tail& tail) {
  const dnnl::engine& engine = request.context.engine;
  MemoryDesc x = describe(m.x, Layout::plain), w = m.weight_desc(),
             y = describe(m.y, Layout::plain);
  Epilogue epilogue{.activation = tail.activation};
  if (tail.residual) epilogue.residual = y;
  dnnl::primitive_attr attr = attributes(epilogue);
  MemoryDesc bias =
      tail.bias ? describe({{m.weight.shape[0]}, DType::f32}, Layout::plain) : MemoryDesc();
  // matmul adds a bias of the product's rank, inner_product a vector.
  MemoryDesc bias_row =
      tail.bias ? describe({{1, m.weight.shape[0]}, DType::f32}, Layout::plain) : MemoryDesc();
  std::vector<Layout> layouts(request.operands.size(), Layout::plain);
  layouts[1] = m.stored;
  std::size_t last = layouts.size() - 1;
  auto bounds = [&](const MemoryDesc& weight_desc, const MemoryDesc& bias_desc) {
    std::vector<Bound> bound{
        {DNNL_ARG_SRC, 0, x}, {DNNL_ARG_WEIGHTS, 1, weight_desc}, {DNNL_ARG_DST, last, y}};
    if (tail.bias) bound.push_back({DNNL_ARG_BIAS, 2, bias_desc});
    if (tail.residual) bound.push_back({kResidual, last - 1, y});
    return bound;
  };
  add_best(list, request, {.algorithm = "matmul", .layouts = layouts},
           implementations<dnnl::matmul>(engine, attr, x, m.turned_weight(), bias_row, y),
           bounds(m.turned_weight(), bias_row));
  add_best(list, request, {.algorithm = "inner_product", .layouts = layouts},
           implementations<dnnl::inner_product_forward>(engine, attr, prop_kind::forward_training,
                                                        x, w, bias, y),
           bounds(w, bias));
  add_packed(list, request, layouts,
             {.extent = {m.rows(), m.outputs(), m.inputs()},
              .a = {0, m.inputs(), 1},
              .b = m.packed_weight().turned(),
              .tail = tail});
}

void add_backward_data(Offers& list, const Request& request, const Matrices& m) {
  const dnnl::engine& engine = request.context.engine;
  MemoryDesc dx = describe(m.x, Layout::plain), w = m.weight_desc(),
             dy = describe(m.y, Layout::plain);
  auto hint =
      forward_hint<dnnl::inner_product_forward>(engine, prop_kind::forward_training, dx, w, dy);
  std::vector<Layout> layouts{Layout::plain, m.stored, Layout::plain};
  add_best(list, request, {.algorithm = "matmul", .layouts = layouts},
           implementations<dnnl::matmul>(engine, attributes(), dy, w, dx),
           {{DNNL_ARG_SRC, 0, dy}, {DNNL_ARG_WEIGHTS, 1, w}, {DNNL_ARG_DST, 2, dx}});
  add_best(list, request, {.algorithm = "inner_product", .layouts = layouts},
           backward_implementations<dnnl::inner_product_backward_data>(engine, hint, dx, w, dy),
           {{DNNL_ARG_DIFF_DST, 0, dy}, {DNNL_ARG_WEIGHTS, 1, w}, {DNNL_ARG_DIFF_SRC, 2, dx}});
  add_packed(list, request, layouts,
             {.extent = {m.rows(), m.inputs(), m.outputs()},
              .a = {0, m.outputs(), 1},
              .b = m.packed_weight()});
}

/// dw = dy^T x, or its transpose x^T dy.
PackedOperands packed_weight_gradient(const Matrices& m) {
  PackedFactor x{0, m.inputs(), 1}, dy{1, m.outputs(), 1};
  if (m.stored == Layout::plain) return {{m.outputs(), m.inputs(), m.rows()}, dy.turned(), x};
  return {{m.inputs(), m.outputs(), m.rows()}, x.turned(), dy};
}

void add_backward_weight(Offers& list, const Request& request, const Matrices& m) {
  const dnnl::engine& engine = request.context.engine;
  MemoryDesc x = describe(m.x, Layout::plain), dw = m.weight_desc(),
             dy = describe(m.y, Layout::plain);
  MemoryDesc turned_dy = describe({{m.y.shape[1], m.y.shape[0]}, DType::f32}, Layout::transposed);
  auto hint =
      forward_hint<dnnl::inner_product_forward>(engine, prop_kind::forward_training, x, dw, dy);
  std::vector<Layout> layouts{Layout::plain, Layout::plain, m.stored};
  add_best(list, request, {.algorithm = "inner_product", .layouts = layouts},
           backward_implementations<dnnl::inner_product_backward_weights>(engine, hint, x, dw, dy),
           {{DNNL_ARG_SRC, 0, x}, {DNNL_ARG_DIFF_DST, 1, dy}, {DNNL_ARG_DIFF_WEIGHTS, 2, dw}});
  add_packed(list, request, layouts, packed_weight_gradient(m));
  // oneDNN writes products in row-major order only.
  if (m.stored != Layout::plain) return;
  add_best(list, request, {.algorithm = "matmul", .layouts = layouts},
           implementations<dnnl::matmul>(engine, attributes(), turned_dy, x, dw),
           {{DNNL_ARG_SRC, 1, turned_dy}, {DNNL_ARG_WEIGHTS, 0, x}, {DNNL_ARG_DST, 2, dw}});
}

}  // namespace

Offers offers(const Linear&, const Request& request) {
  std::optional<Tail> tail = tail_of(request.key, request.key.inputs[0].shape.rank() - 1);
  if (!tail) return {};
  Offers list;
  for (Layout stored : {Layout::plain, Layout::transposed}) {
    Matrices matrices(request, stored);
    if (request.key.phase == Phase::forward)
      add_forward(list, request, matrices, *tail);
    else if (request.key.phase == Phase::backward_data)
      add_backward_data(list, request, matrices);
    else
      add_backward_weight(list, request, matrices);
  }
  return list;
}

}  // namespace troika
