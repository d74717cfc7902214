#include "ops/sum.h"

#include "ops/require.h"

namespace troika {

Signature signature(const Sum& op, std::span<const TensorSpec> inputs) {
  require(op.count > 0, "sum", "needs count > 0");
  require_inputs("sum", inputs, static_cast<std::size_t>(op.count));
  const Shape& x = inputs[0].shape;
  Signature s{.axes = leading_axes(x, x.rank())};
  std::vector<DimMap> dims;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) dims.push_back(along(static_cast<int>(axis)));
  PhaseSpec forward{.phase = Phase::forward,
                    .flops = {checked_product("sum", {x.elements(), op.count - 1})}};
  for (const TensorSpec& input : inputs) {
    require(input == inputs[0], "sum", "takes tensors of one shape, not ", inputs[0], " and ",
            input);
    forward.uses.push_back(read(static_cast<int>(s.slots.size())));
    s.slots.push_back({Role::input, "x" + std::to_string(s.slots.size()), input, dims});
  }
  forward.uses.push_back(write(static_cast<int>(s.slots.size())));
  s.slots.push_back({Role::output, "y", inputs[0], dims});
  s.phases = {forward};
  return s;
}

}  // namespace troika
