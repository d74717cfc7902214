#include "ops/slice_tensor.h"

#include "ops/dim_axes.h"
#include "ops/require.h"

namespace troika {

Signature signature(const SliceTensor& op, std::span<const TensorSpec> inputs) {
  require_inputs("slice", inputs, 1);
  std::size_t dim = require_dim("slice", op.dim, inputs[0]);
  require(0 <= op.begin && op.begin < op.end && op.end <= inputs[0].shape[dim], "slice", "from ",
          op.begin, " to ", op.end, " along dimension ", op.dim, " is empty or outside ",
          inputs[0]);
  // The dimension is not an axis: some tiles of x would have no part in y.
  auto [axes, dims] = dim_axes_but(inputs[0].shape, dim);
  TensorSpec y = inputs[0];
  y.shape[dim] = op.end - op.begin;
  Signature s{.axes = axes};
  s.slots = {{Role::input, "x", inputs[0], dims}, {Role::output, "y", y, dims}};
  s.phases = {{Phase::forward, {read(0), write(1)}, {}},
              {Phase::backward_data, {read_grad(1), write_grad(0)}, {}}};
  return s;
}

}  // namespace troika
