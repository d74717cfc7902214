#include "ops/split_tensor.h"

#include <numeric>

#include "ops/dim_axes.h"
#include "ops/require.h"

namespace troika {

Signature signature(const SplitTensor& op, std::span<const TensorSpec> inputs) {
  require_inputs("split", inputs, 1);
  std::size_t dim = require_dim("split", op.dim, inputs[0]);
  std::int64_t total = std::accumulate(op.sizes.begin(), op.sizes.end(), std::int64_t{0});
  require(total == inputs[0].shape[dim], "split", "needs sizes that add up to dimension ", op.dim,
          " of ", inputs[0], ", not to ", total);
  // The dimension is not an axis: a range of x would cut some outputs and miss others.
  auto [axes, dims] = dim_axes_but(inputs[0].shape, dim);
  Signature s{.axes = axes};
  s.slots = {{Role::input, "x", inputs[0], dims}};
  PhaseSpec forward{.phase = Phase::forward, .uses = {read(0)}},
      backward{.phase = Phase::backward_data};
  for (std::int64_t size : op.sizes) {
    require(size > 0, "split", "needs sizes above zero, not ", size);
    auto slot = static_cast<int>(s.slots.size());
    TensorSpec y = inputs[0];
    y.shape[dim] = size;
    s.slots.push_back({Role::output, "y" + std::to_string(slot - 1), y, dims});
    forward.uses.push_back(write(slot));
    backward.uses.push_back(read_grad(slot));
  }
  // One phase for all parts, because together they fill the gradient of x.
  backward.uses.push_back(write_grad(0));
  s.phases = {forward, backward};
  return s;
}

}  // namespace troika
