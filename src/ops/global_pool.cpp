#include "ops/global_pool.h"

#include "ops/require.h"

namespace troika {

Signature signature(const GlobalPool& op, std::span<const TensorSpec> inputs) {
  require_inputs("global_pool", inputs, 1);
  const Shape& x = inputs[0].shape;
  require(x.rank() == 4 && x[2] * x[3] > 0, "global_pool", "takes an input [n,c,h,w], not ",
          inputs[0]);
  Signature s{.axes = {{"n", AxisKind::sample, x[0]}, {"c", AxisKind::attribute, x[1]}}};
  s.slots = {{Role::input, "x", inputs[0], {along(0), along(1), whole_dim(), whole_dim()}},
             {Role::output, "y", {{x[0], x[1]}, inputs[0].dtype}, {along(0), along(1)}}};
  Flops flops{x.elements()};
  s.phases = {{Phase::forward, {read(0), write(1)}, flops},
              {Phase::backward_data, {read_grad(1), write_grad(0)}, flops}};
  // As in pool2d: reading x again costs less memory than saved indices.
  if (op.kind == PoolKind::max) s.phases[1].uses = {read(0), read_grad(1), write_grad(0)};
  return s;
}

}  // namespace troika
