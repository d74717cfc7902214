#include "ops/gate_projection.h"

#include <cmath>

#include "ops/require.h"

namespace troika {

Signature signature(const GateProjection& op, std::span<const TensorSpec> inputs) {
  require_inputs("gate_projection", inputs, 1);
  const Shape& x = inputs[0].shape;
  DType dtype = inputs[0].dtype;
  require(x.rank() == 3, "gate_projection",
          "takes an input of rank 3 (sample, step, feature), not ", inputs[0]);
  require(op.hidden > 0, "gate_projection", "needs hidden > 0");
  std::int64_t gates = gates_of(op.kind);

  Signature s{.axes = leading_axes(x, 2)};
  constexpr int kSample = 0, kStep = 1, kUnit = 2, kInput = 3;
  s.axes.push_back({"u", AxisKind::parameter, op.hidden});
  s.axes.push_back({"i", AxisKind::reduction, x[2]});
  s.slots = {{Role::input, "x", inputs[0], {along(kSample), along(kStep), along(kInput)}},
             {.role = Role::weight,
              .name = "w_ih",
              .spec = {{gates, op.hidden, x[2]}, dtype},
              .dims = {whole_dim(), along(kUnit), along(kInput)},
              // That of Recurrent.
              .init = {Init::Kind::uniform, 1 / std::sqrt(static_cast<double>(op.hidden))},
              .merged = 2},
             {Role::output,
              "p",
              {{x[0], x[1], gates, op.hidden}, dtype},
              {along(kSample), along(kStep), whole_dim(), along(kUnit)}}};
  Flops flops{checked_product("gate_projection", {2, x[0], x[1], x[2], gates, op.hidden})};
  s.phases = {{Phase::forward, {read(0), read(1), write(2)}, flops},
              {Phase::backward_data, {read_grad(2), read(1), write_grad(0)}, flops},
              {Phase::backward_weight, {read(0), read_grad(2), write_grad(1)}, flops}};
  return s;
}

GateProjection localize(const GateProjection& op, const Signature& signature, const Region& tile) {
  return {.kind = op.kind, .hidden = tile[static_cast<std::size_t>(signature.axis("u"))].extent()};
}

Linear as_linear(const GateProjection& op) { return {.out = gates_of(op.kind) * op.hidden}; }

}  // namespace troika
