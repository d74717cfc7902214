#include "ops/dropout.h"

#include "ops/dim_axes.h"
#include "ops/require.h"
#include "ops/step_scalars.h"

namespace troika {

Signature signature(const Dropout& op, std::span<const TensorSpec> inputs) {
  require_inputs("dropout", inputs, 1);
  const Shape& x = inputs[0].shape;
  require(op.rate >= 0 && op.rate < 1, "dropout", "needs a rate in [0, 1)");
  require(op.extents.empty() || op.extents.size() == x.rank(), "dropout",
          "needs one extent per dimension of ", inputs[0]);
  require(op.begin.empty() || op.begin.size() == op.extents.size(), "dropout",
          "needs extents if it has a begin, one number per dimension of ", inputs[0]);
  auto [axes, dims] = dim_axes(x);
  Signature s{.axes = axes};
  s.slots = {{Role::input, "x", inputs[0], dims},
             {Role::scalars, "scalars", {{kScalarCount}, DType::f64}, {whole_dim()}},
             {Role::output, "y", inputs[0], dims}};
  // About the integer operations of ten rounds of Philox per element.
  Flops flops{20 * x.elements()};
  s.phases = {{Phase::forward, {read(0), read(1), write(2)}, flops},
              {Phase::backward_data, {read_grad(2), read(1), write_grad(0)}, flops}};
  return s;
}

Dropout localize(const Dropout& op, const Signature& signature, const Region&) {
  const Shape& x = signature.slots[0].spec.shape;
  Dropout local{.rate = op.rate, .extents = op.extents};
  if (local.extents.empty()) local.extents.assign(x.begin(), x.end());
  return local;
}

// A launch knows its place in the global tensor, so that the mask does not depend on the split
// (law 2).
std::vector<std::int64_t> tile_position(const Dropout& op, const Signature&, const Region& tile) {
  std::vector<std::int64_t> position{static_cast<std::int64_t>(op.stream)};
  for (std::size_t dim = 0; dim < tile.rank(); ++dim)
    position.push_back(tile[dim].begin + (op.begin.empty() ? 0 : op.begin[dim]));
  return position;
}

}  // namespace troika
