#include "ops/guard.h"

#include "ops/require.h"
#include "ops/step_scalars.h"

namespace troika {

Signature signature(const Guard& op, std::span<const TensorSpec> inputs) {
  require_inputs("guard", inputs, op.gradient ? 3 : 2);
  constexpr const char* kNames[] = {"loss_sum", "weight_sum", "square_sum"};
  Signature s;
  PhaseSpec phase{.phase = Phase::update};
  for (std::size_t at = 0; at < inputs.size(); ++at) {
    require(inputs[at] == TensorSpec{{1}, DType::f64}, "guard", "takes sums of type f64[1], not ",
            inputs[at]);
    s.slots.push_back({Role::input, kNames[at], inputs[at], {whole_dim()}});
    phase.uses.push_back(read(static_cast<int>(at)));
  }
  // Updated and not written: the guard may clear the flag `ok` but never sets it.
  phase.uses.push_back(update(static_cast<int>(inputs.size())));
  s.slots.push_back({Role::control, "control", {{kControlCount}, DType::f64}, {whole_dim()}});
  s.phases = {phase};
  return s;
}

Signature signature(const SquareSum&, std::span<const TensorSpec> inputs) {
  require_inputs("square_sum", inputs, 1);
  const Shape& x = inputs[0].shape;
  Signature s{.axes = leading_axes(x, x.rank())};
  std::vector<DimMap> dims;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) dims.push_back(along(static_cast<int>(axis)));
  s.slots = {{Role::input, "x", inputs[0], dims},
             {Role::output, "y", {{1}, DType::f64}, {whole_dim()}}};
  s.phases = {{Phase::forward, {read(0), write(1)}, {2 * x.elements()}}};
  return s;
}

}  // namespace troika
