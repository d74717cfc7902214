#include "ops/accuracy.h"

#include "ops/require.h"

namespace troika {

Signature signature(const Accuracy& op, std::span<const TensorSpec> inputs) {
  require_inputs("accuracy", inputs, 3);
  const Shape& x = inputs[0].shape;
  require(x.rank() >= 2, "accuracy", "takes logits of rank 2 or more, not ", inputs[0]);
  require(op.top >= 1 && op.top <= x.back(), "accuracy", "counts from 1 to all of the logits ",
          inputs[0], ", not ", op.top);
  Shape rows(std::span(x.begin(), x.rank() - 1));
  require(
      inputs[1] == TensorSpec{rows, DType::i32} && inputs[2] == TensorSpec{rows, inputs[0].dtype},
      "accuracy", "takes one i32 target and one weight per row of logits ", inputs[0], ", not ",
      inputs[1], " and ", inputs[2]);
  Signature s{.axes = leading_axes(x, rows.rank())};
  std::vector<DimMap> row_dims;
  for (std::size_t axis = 0; axis < rows.rank(); ++axis)
    row_dims.push_back(along(static_cast<int>(axis)));
  std::vector<DimMap> x_dims = row_dims;
  // The rank of a target needs all logits of its row, so the classes are not an axis.
  x_dims.push_back(whole_dim());
  s.slots = {{Role::input, "x", inputs[0], x_dims},
             {.role = Role::input,
              .name = "target",
              .spec = inputs[1],
              .dims = row_dims,
              .bound = x.back()},
             {Role::input, "weight", inputs[2], row_dims},
             {Role::output, "correct_sum", {{1}, DType::f64}, {whole_dim()}}};
  s.phases = {{Phase::forward, {read(0), read(1), read(2), write(3)}, {x.elements()}}};
  return s;
}

}  // namespace troika
