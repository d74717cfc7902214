#include "kernels/cpu/offers.h"
#include "kernels/cpu/packed_offer.h"

namespace troika {
namespace {

/// One matrix per leading index, possibly transposed.
MemoryDesc factor(const TensorSpec& spec, bool transposed) {
  auto strides = spec.shape.strides();
  TensorSpec turned = spec;
  std::size_t rank = spec.shape.rank();
  if (transposed) {
    std::swap(turned.shape[rank - 2], turned.shape[rank - 1]);
    std::swap(strides[rank - 2], strides[rank - 1]);
  }
  return describe_strided(turned, std::span<const std::int64_t>(strides).first(rank));
}

/// first * second, each possibly turned, as operands 0 and 1 or 1 and 0 of the kernel; the product
/// is operand 2.
struct Product {
  std::size_t first, second;
  bool turn_first, turn_second;
};

/// A product is always row-major, so the gradient of a transposed factor is the product of the
/// transposes of the others.
Product product_of(const Matmul& op, Phase phase) {
  if (phase == Phase::forward) return {0, 1, op.transpose_a, op.transpose_b};
  // Operands: dc, b, da. da = dc b^T; transposed, da^T = b dc^T.
  if (phase == Phase::backward_data)
    return op.transpose_a ? Product{1, 0, op.transpose_b, true}
                          : Product{0, 1, false, !op.transpose_b};
  // Operands: a, dc, db. db = a^T dc; transposed, db^T = dc^T a.
  return op.transpose_b ? Product{1, 0, true, op.transpose_a}
                        : Product{0, 1, !op.transpose_a, false};
}

PackedFactor packed_factor(const Request& request, std::size_t operand, bool transposed) {
  const Shape& shape = request.shape(operand);
  std::int64_t rows = shape[shape.rank() - 2], columns = shape[shape.rank() - 1];
  PackedFactor plain{operand, columns, 1, rows * columns};
  return transposed ? plain.turned() : plain;
}

PackedOperands packed_operands(const Request& request, const Product& p) {
  const Shape &first = request.shape(p.first), &c = request.shape(2);
  std::size_t rank = c.rank();
  std::int64_t rows = c[rank - 2], columns = c[rank - 1];
  return {.extent = {rows, columns, p.turn_first ? first[rank - 2] : first[rank - 1]},
          .a = packed_factor(request, p.first, p.turn_first),
          .b = packed_factor(request, p.second, p.turn_second),
          .batches = c.elements() / (rows * columns)};
}

}  // namespace

Offers offers(const Matmul& op, const Request& request) {
  Product p = product_of(op, request.key.phase);
  MemoryDesc a = factor(request.spec(p.first), p.turn_first),
             b = factor(request.spec(p.second), p.turn_second), c = factor(request.spec(2), false);
  Offers list;
  for (const Implementation& each :
       implementations<dnnl::matmul>(request.context.engine, attributes(), a, b, c)) {
    if (is_reference(each) && !list.empty()) continue;
    Candidate candidate{.algorithm = each.impl_info_str(),
                        .layouts = {Layout::plain, Layout::plain, Layout::plain}};
    list.push_back(offer_primitive(
        request, candidate, each,
        {{DNNL_ARG_SRC, p.first, a}, {DNNL_ARG_WEIGHTS, p.second, b}, {DNNL_ARG_DST, 2, c}}));
  }
  add_packed(list, request, {Layout::plain, Layout::plain, Layout::plain},
             packed_operands(request, p));
  return list;
}

}  // namespace troika
