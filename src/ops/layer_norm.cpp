#include "ops/layer_norm.h"

#include "ops/require.h"

namespace troika {

Signature signature(const LayerNorm&, std::span<const TensorSpec> inputs) {
  require_inputs("layer_norm", inputs, 1);
  const TensorSpec& x = inputs[0];
  require(x.shape.rank() >= 2, "layer_norm", "takes an input of rank 2 or more, not ", x);
  std::size_t leading = x.shape.rank() - 1;
  Shape rows(std::span(x.shape.begin(), leading));

  // The last dimension is not an axis, because its statistics cover a whole row. gamma and beta
  // have no axis at all: their gradients are partial over every split of the rows.
  Signature s{.axes = leading_axes(x.shape, leading)};
  std::vector<DimMap> row_dims;
  for (std::size_t axis = 0; axis < leading; ++axis)
    row_dims.push_back(along(static_cast<int>(axis)));
  std::vector<DimMap> dims = row_dims;
  dims.push_back(whole_dim());
  TensorSpec per_column{{x.shape.back()}, x.dtype}, per_row{rows, x.dtype};
  s.slots = {{Role::input, "x", x, dims},
             {.role = Role::weight,
              .name = "gamma",
              .spec = per_column,
              .dims = {whole_dim()},
              .init = {Init::Kind::ones, 0}},
             {Role::weight, "beta", per_column, {whole_dim()}},
             {Role::output, "y", x, dims},
             // Kept for backward, which would otherwise read x twice more to compute them.
             {Role::saved, "mean", per_row, row_dims},
             {Role::saved, "inv_std", per_row, row_dims}};
  std::int64_t elements = x.shape.elements();
  s.phases = {
      {Phase::forward, {read(0), read(1), read(2), write(3), write(4), write(5)}, {6 * elements}},
      {Phase::backward,
       {read(0), read_grad(3), read(1), read(4), read(5), write_grad(0), write_grad(1),
        write_grad(2)},
       {12 * elements}}};
  return s;
}

}  // namespace troika
