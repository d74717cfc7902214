#include "ops/softmax.h"

#include "ops/dim_axes.h"
#include "ops/require.h"

namespace troika {

Signature signature(const Softmax&, std::span<const TensorSpec> inputs) {
  require_inputs("softmax", inputs, 1);
  const Shape& x = inputs[0].shape;
  require(x.rank() >= 1, "softmax", "takes an input of rank 1 or more, not ", inputs[0]);
  auto [axes, dims] = dim_axes_but(x, x.rank() - 1);
  Signature s{.axes = axes};
  s.slots = {{Role::input, "x", inputs[0], dims}, {Role::output, "y", inputs[0], dims}};
  // Forward: maximum, difference, exp, sum and quotient. Backward: two for the dot product, two
  // more.
  s.phases = {{Phase::forward, {read(0), write(1)}, {5 * x.elements()}},
              {Phase::backward_data, {read_grad(1), read(1), write_grad(0)}, {4 * x.elements()}}};
  return s;
}

}  // namespace troika
