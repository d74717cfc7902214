#include "ops/linear.h"

#include <cmath>

#include "ops/require.h"

namespace troika {

Signature signature(const Linear& op, std::span<const TensorSpec> inputs) {
  require_inputs("linear", inputs, 1);
  const Shape& x = inputs[0].shape;
  require(x.rank() >= 2, "linear", "takes an input of rank 2 or more, not ", inputs[0]);
  require(op.out > 0, "linear", "needs out > 0");
  DType dtype = inputs[0].dtype;
  std::size_t leading = x.rank() - 1;
  std::int64_t in = x.back(), rows = x.product(0, leading);

  Signature s{.axes = leading_axes(x, leading)};
  int o = static_cast<int>(leading), i = o + 1;
  s.axes.push_back({"o", AxisKind::parameter, op.out});
  s.axes.push_back({"i", AxisKind::reduction, in});

  std::vector<DimMap> x_dims, y_dims;
  Shape y;
  for (std::size_t dim = 0; dim < leading; ++dim) {
    x_dims.push_back(along(static_cast<int>(dim)));
    y_dims.push_back(along(static_cast<int>(dim)));
    y.push_back(x[dim]);
  }
  // y has no axis i and the weight no leading axis: a split of i gives partial sums of y, a split
  // of the samples partial gradients of the weight.
  x_dims.push_back(along(i));
  y_dims.push_back(along(o));
  y.push_back(op.out);

  // The default start is uniform with half-width 1/sqrt(fan_in), as in PyTorch.
  s.slots = {{Role::input, "x", inputs[0], x_dims},
             {.role = Role::weight,
              .name = "weight",
              .spec = {{op.out, in}, dtype},
              .dims = {along(o), along(i)},
              .init = {Init::Kind::uniform, 1 / std::sqrt(static_cast<double>(in))}},
             {Role::output, "y", {y, dtype}, y_dims}};
  Flops flops{checked_product("linear", {2, rows, in, op.out})};
  s.phases = {{Phase::forward, {read(0), read(1), write(2)}, flops},
              {Phase::backward_data, {read_grad(2), read(1), write_grad(0)}, flops},
              {Phase::backward_weight, {read(0), read_grad(2), write_grad(1)}, flops}};
  return s;
}

Linear localize(const Linear&, const Signature& signature, const Region& tile) {
  return {.out = tile[static_cast<std::size_t>(signature.axis("o"))].extent()};
}

}  // namespace troika
