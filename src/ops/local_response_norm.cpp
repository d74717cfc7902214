#include "ops/local_response_norm.h"

#include "ops/require.h"

namespace troika {

Signature signature(const LocalResponseNorm& op, std::span<const TensorSpec> inputs) {
  require_inputs("local_response_norm", inputs, 1);
  const Shape& x = inputs[0].shape;
  require(x.rank() == 4, "local_response_norm", "takes an input [n,c,h,w], not ", inputs[0]);
  require(op.size > 0, "local_response_norm", "needs size > 0");
  Signature s{.axes = {{"n", AxisKind::sample, x[0]},
                       {"h", AxisKind::attribute, x[2]},
                       {"w", AxisKind::attribute, x[3]}}};
  // Channels stay whole: each output reads size neighbouring channels. The position axes need no
  // halo.
  std::vector<DimMap> dims{along(0), whole_dim(), along(1), along(2)};
  s.slots = {{Role::input, "x", inputs[0], dims}, {Role::output, "y", inputs[0], dims}};
  // A power counts as ten operations.
  std::int64_t per_element = 2 * op.size + 12;
  // Backward recomputes the denominators from x; saving them would cost a tensor of the size of x.
  s.phases = {
      {Phase::forward,
       {read(0), write(1)},
       {checked_product("local_response_norm", {x.elements(), per_element})}},
      {Phase::backward_data,
       {read(0), read_grad(1), write_grad(0)},
       {checked_product("local_response_norm", {x.elements(), per_element + 2 * op.size + 5})}}};
  return s;
}

}  // namespace troika
