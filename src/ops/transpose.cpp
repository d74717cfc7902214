#include "ops/transpose.h"

#include <algorithm>

#include "ops/dim_axes.h"
#include "ops/require.h"

namespace troika {

Signature signature(const Transpose& op, std::span<const TensorSpec> inputs) {
  require_inputs("transpose", inputs, 1);
  const Shape& x = inputs[0].shape;
  // A permutation sorts to 0, 1, 2, …
  std::vector<std::int64_t> order = op.permutation;
  std::ranges::sort(order);
  bool fits = order.size() == x.rank();
  for (std::size_t dim = 0; fits && dim < order.size(); ++dim)
    fits = order[dim] == static_cast<std::int64_t>(dim);
  require(fits, "transpose", "needs a permutation that names each dimension of ", inputs[0],
          " once");

  // Each dimension of y has the axis of the dimension of x that it comes from, so a tile is a box
  // in both.
  auto [axes, x_dims] = dim_axes(x);
  std::vector<DimMap> y_dims;
  Shape y;
  for (std::int64_t from : op.permutation) {
    y_dims.push_back(x_dims[static_cast<std::size_t>(from)]);
    y.push_back(x[static_cast<std::size_t>(from)]);
  }
  Signature s{.axes = axes};
  s.slots = {{Role::input, "x", inputs[0], x_dims},
             {Role::output, "y", {y, inputs[0].dtype}, y_dims}};
  s.phases = {{Phase::forward, {read(0), write(1)}, {}},
              {Phase::backward_data, {read_grad(1), write_grad(0)}, {}}};
  return s;
}

}  // namespace troika
