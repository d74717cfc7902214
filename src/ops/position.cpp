#include "ops/position.h"

#include "ops/require.h"

namespace troika {

Signature signature(const Position&, std::span<const TensorSpec> inputs) {
  require_inputs("position", inputs, 1);
  const Shape& x = inputs[0].shape;
  require(x.rank() == 3, "position", "takes sequences of vectors [n,t,d], not ", inputs[0]);
  Signature s{.axes = leading_axes(x, 2)};
  s.axes.push_back({"d", AxisKind::parameter, x[2]});
  std::vector<DimMap> dims{along(0), along(1), along(2)};
  // 0.02 is the standard deviation of GPT-2 and BERT.
  s.slots = {{Role::input, "x", inputs[0], dims},
             {.role = Role::weight,
              .name = "weight",
              .spec = {{x[1], x[2]}, inputs[0].dtype},
              .dims = {along(1), along(2)},
              .init = {Init::Kind::normal, 0.02}},
             {Role::output, "y", inputs[0], dims}};
  Flops flops{x.elements()};
  s.phases = {{Phase::forward, {read(0), read(1), write(2)}, flops},
              // The gradient of x is that of y, so there is nothing to compute.
              {.phase = Phase::backward_data, .uses = {read_grad(2), write_grad(0)}, .view = true},
              {Phase::backward_weight, {read_grad(2), write_grad(1)}, flops}};
  return s;
}

}  // namespace troika
