#include "ops/bias.h"

#include "ops/require.h"

namespace troika {

Signature signature(const Bias& op, std::span<const TensorSpec> inputs) {
  require_inputs("bias", inputs, 1);
  const Shape& x = inputs[0].shape;
  auto rank = static_cast<std::int64_t>(x.rank());
  std::int64_t dim = op.dim < 0 ? op.dim + rank : op.dim;
  require(dim >= 0 && dim < rank, "bias", "along dimension ", op.dim, " does not fit ", inputs[0]);

  Signature s{.axes = leading_axes(x, x.rank())};
  Axis& channel = s.axes[static_cast<std::size_t>(dim)];
  channel = {"c", AxisKind::parameter, channel.extent};
  std::vector<DimMap> dims;
  for (int axis = 0; axis < rank; ++axis) dims.push_back(along(axis));
  s.slots = {
      {Role::input, "x", inputs[0], dims},
      {Role::weight, "bias", {{channel.extent}, inputs[0].dtype}, {along(static_cast<int>(dim))}},
      {Role::output, "y", inputs[0], dims}};
  Flops flops{x.elements()};
  s.phases = {{Phase::forward, {read(0), read(1), write(2)}, flops},
              // The gradient of x is that of y, so there is nothing to compute.
              {.phase = Phase::backward_data, .uses = {read_grad(2), write_grad(0)}, .view = true},
              {Phase::backward_weight, {read_grad(2), write_grad(1)}, flops}};
  return s;
}

}  // namespace troika
