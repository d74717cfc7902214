#include "ops/mean.h"

#include "ops/dim_axes.h"
#include "ops/require.h"

namespace troika {

Signature signature(const Mean& op, std::span<const TensorSpec> inputs) {
  require_inputs("mean", inputs, 1);
  const Shape& x = inputs[0].shape;
  std::size_t gone = require_dim("mean", op.dim, inputs[0]);
  require(x.rank() >= 2, "mean", "takes an input of rank 2 or more, not ", inputs[0]);
  auto [axes, x_dims] = dim_axes(x);
  axes[gone].kind = AxisKind::reduction;
  std::vector<DimMap> y_dims;
  Shape y;
  for (std::size_t dim = 0; dim < x.rank(); ++dim) {
    if (dim == gone) continue;
    y.push_back(x[dim]);
    y_dims.push_back(x_dims[dim]);
  }
  Signature s{.axes = axes};
  s.slots = {{Role::input, "x", inputs[0], x_dims},
             {Role::output, "y", {y, inputs[0].dtype}, y_dims}};
  Flops flops{x.elements()};
  s.phases = {{Phase::forward, {read(0), write(1)}, flops},
              {Phase::backward_data, {read_grad(1), write_grad(0)}, flops}};
  return s;
}

Mean localize(const Mean& op, const Signature& signature, const Region&) {
  std::size_t dim = require_dim("mean", op.dim, signature.slots[0].spec);
  // A tile of the reduced dimension gives a partial sum that is already divided by the whole
  // extent, so that the tiles add up to the mean.
  return {.dim = op.dim, .count = op.count != 0 ? op.count : signature.slots[0].spec.shape[dim]};
}

}  // namespace troika
