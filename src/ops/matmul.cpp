#include "ops/matmul.h"

#include "ops/require.h"

namespace troika {
namespace {

void require_fit(const Matmul& op, std::span<const TensorSpec> inputs) {
  require_inputs("matmul", inputs, 2);
  const Shape &a = inputs[0].shape, &b = inputs[1].shape;
  std::size_t rank = a.rank();
  bool fits = rank >= 2 && b.rank() == rank && inputs[0].dtype == inputs[1].dtype;
  for (std::size_t dim = 0; fits && dim + 2 < rank; ++dim) fits = a[dim] == b[dim];
  fits = fits && a[rank - (op.transpose_a ? 2 : 1)] == b[rank - (op.transpose_b ? 1 : 2)];
  require(fits, "matmul", "cannot multiply ", inputs[0], op.transpose_a ? " transposed" : "",
          " by ", inputs[1], op.transpose_b ? " transposed" : "",
          "; leading dimensions, inner dimension and type must agree");
}

}  // namespace

Signature signature(const Matmul& op, std::span<const TensorSpec> inputs) {
  require_fit(op, inputs);
  const Shape &a = inputs[0].shape, &b = inputs[1].shape;
  std::size_t leading = a.rank() - 2;
  // The last two dimensions of a are m, k or, transposed, k, m; those of b are k, n or n, k.
  std::int64_t rows = a[leading + op.transpose_a], columns = b[leading + !op.transpose_b],
               inner = a[leading + !op.transpose_a];

  Signature s;
  std::vector<DimMap> batch;
  Shape c;
  for (std::size_t dim = 0; dim < leading; ++dim) {
    s.axes.push_back({dim == 0 ? "b" : "b" + std::to_string(dim), AxisKind::sample, a[dim]});
    batch.push_back(along(static_cast<int>(dim)));
    c.push_back(a[dim]);
  }
  c.push_back(rows);
  c.push_back(columns);
  int m = static_cast<int>(leading), n = m + 1, k = m + 2;
  s.axes.push_back({"m", AxisKind::attribute, rows});
  s.axes.push_back({"n", AxisKind::parameter, columns});
  s.axes.push_back({"k", AxisKind::reduction, inner});
  // Axes of a matrix: those of the batch, then its two own in the order of memory.
  auto dims = [&](int first, int second, bool transposed) {
    std::vector<DimMap> all = batch;
    all.push_back(along(transposed ? second : first));
    all.push_back(along(transposed ? first : second));
    return all;
  };
  s.slots = {{Role::input, "a", inputs[0], dims(m, k, op.transpose_a)},
             {Role::input, "b", inputs[1], dims(k, n, op.transpose_b)},
             {Role::output, "c", {c, inputs[0].dtype}, dims(m, n, false)}};
  // Each phase is one product of the same three extents.
  Flops flops{checked_product("matmul", {2, c.elements(), inner})};
  s.phases = {{Phase::forward, {read(0), read(1), write(2)}, flops},
              {Phase::backward_data, {read_grad(2), read(1), write_grad(0)}, flops},
              {Phase::backward_weight, {read(0), read_grad(2), write_grad(1)}, flops}};
  return s;
}

}  // namespace troika
