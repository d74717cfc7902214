#include "kernels/cpu/recurrent_steps.h"

#include <algorithm>

namespace troika {
namespace {

char turn(const Matrix& matrix) { return matrix.turned ? 'T' : 'N'; }

}  // namespace

void set_product(const ProductExtents& extents, const Matrix& a, const Matrix& b, const Matrix& c) {
  check_dnnl(dnnl_sgemm(turn(a), turn(b), extents.rows, extents.columns, extents.depth, 1, a.first,
                        a.stride, b.first, b.stride, 0, c.first, c.stride),
             "a matrix product");
}

RecurrentSteps::RecurrentSteps(const Recurrent& recurrent, const Request& request)
    : op(recurrent), at(recurrent), signature(request.signature), phase(request.key.phase) {
  const Shape& x = request.key.inputs[0].shape;
  samples = x[0], steps = x[1], inputs = x[2];
  hidden = op.hidden;
  gates = gates_of(op.kind) * hidden;
  saved = biases_of(op.kind) * hidden;
}

std::int64_t RecurrentSteps::length(const std::int32_t* lengths, std::int64_t n) const {
  return lengths == nullptr ? steps : std::min<std::int64_t>(lengths[n], steps);
}

std::int64_t RecurrentSteps::row(const std::int32_t* lengths, std::int64_t n,
                                 std::int64_t k) const {
  return n * steps + (op.reverse ? length(lengths, n) - 1 - k : k);
}

}  // namespace troika
