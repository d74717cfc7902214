#include "ops/concat.h"

#include "ops/dim_axes.h"
#include "ops/require.h"

namespace troika {
namespace {

bool fits(const TensorSpec& a, const TensorSpec& b, std::size_t dim) {
  TensorSpec like = b;
  if (a.shape.rank() != b.shape.rank()) return false;
  like.shape[dim] = a.shape[dim];
  return like == a;
}

}  // namespace

Signature signature(const Concat& op, std::span<const TensorSpec> inputs) {
  require(!inputs.empty(), "concat", "takes at least one input");
  std::size_t dim = require_dim("concat", op.dim, inputs[0]);
  // The joined dimension is not an axis: a range of y would cut some inputs and miss others.
  auto [axes, dims] = dim_axes_but(inputs[0].shape, dim);
  Signature s{.axes = axes};
  TensorSpec y = inputs[0];
  y.shape[dim] = 0;
  int count = static_cast<int>(inputs.size());
  PhaseSpec forward{.phase = Phase::forward},
      backward{.phase = Phase::backward, .uses = {read_grad(count)}};
  for (int at = 0; at < count; ++at) {
    const TensorSpec& x = inputs[static_cast<std::size_t>(at)];
    require(fits(x, inputs[0], dim), "concat", "along dimension ", op.dim, " cannot join ",
            inputs[0], " and ", x);
    y.shape[dim] += x.shape[dim];
    s.slots.push_back({Role::input, "x" + std::to_string(at), x, dims});
    forward.uses.push_back(read(at));
    backward.uses.push_back(write_grad(at));
  }
  s.slots.push_back({Role::output, "y", y, dims});
  forward.uses.push_back(write(count));
  s.phases = {forward, backward};
  return s;
}

}  // namespace troika
