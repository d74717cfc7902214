#include "ops/cross_entropy.h"

#include "ops/require.h"

namespace troika {

Signature signature(const CrossEntropy&, std::span<const TensorSpec> inputs) {
  require_inputs("cross_entropy", inputs, 3);
  const Shape& x = inputs[0].shape;
  require(x.rank() >= 2, "cross_entropy", "takes logits of rank 2 or more, not ", inputs[0]);
  Shape rows(std::span(x.begin(), x.rank() - 1));
  require(inputs[1] == TensorSpec{rows, DType::i32}, "cross_entropy", "takes targets of type i32",
          rows, " for logits ", inputs[0], ", not ", inputs[1]);
  require(inputs[2] == TensorSpec{rows, inputs[0].dtype}, "cross_entropy",
          "takes one weight per target, not ", inputs[2], " for logits ", inputs[0]);

  Signature s{.axes = leading_axes(x, rows.rank())};
  int v = static_cast<int>(rows.rank());
  // v may be split, but a row needs its normaliser over all classes: `whole` is the full extent, so
  // that any split of v takes the staged phases.
  s.axes.push_back({"v", AxisKind::reduction, x.back(), x.back()});
  std::vector<DimMap> row_dims;
  for (int axis = 0; axis < v; ++axis) row_dims.push_back(along(axis));
  std::vector<DimMap> x_dims = row_dims;
  x_dims.push_back(along(v));

  TensorSpec per_row{rows, inputs[0].dtype}, total{{1}, DType::f64};
  s.slots = {{Role::input, "x", inputs[0], x_dims},
             {.role = Role::input,
              .name = "target",
              .spec = inputs[1],
              .dims = row_dims,
              .bound = x.back()},
             {Role::input, "weight", inputs[2], row_dims},
             {Role::output, "loss_sum", total, {whole_dim()}},
             {Role::output, "weight_sum", total, {whole_dim()}},
             {Role::saved, "log_sum", per_row, row_dims},
             // The maximum must be combined before exp_sum is computed. picked is the logit of the
             // target: the tile that holds the class gives it, the others give 0, so that the sum
             // is the logit.
             {Role::statistic, "row_max", per_row, row_dims, Combine::max},
             {Role::statistic, "exp_sum", per_row, row_dims},
             {Role::statistic, "picked", per_row, row_dims}};
  Flops flops{5 * x.elements()};
  // Backward is the same either way: with log_sum of the whole row, the gradient of each logit is
  // local.
  PhaseSpec backward{
      Phase::backward_data, {read(0), read(1), read(2), read(5), write_grad(0)}, flops};
  s.phases = {{Phase::forward, {read(0), read(1), read(2), write(3), write(4), write(5)}, flops},
              backward};
  // With a split vocabulary the maximum of a row comes first, then the sum of exp(x - maximum), so
  // that no exponential overflows.
  s.staged = {{Phase::statistics_1, {read(0), write(6)}, flops},
              {Phase::statistics_2, {read(0), read(1), read(6), write(7), write(8)}, flops},
              // apply reads no tensor with axis v, so it runs once per tile of rows and the loss is
              // not counted once per tile of the vocabulary.
              {Phase::apply,
               {read(1), read(2), read(6), read(7), read(8), write(3), write(4), write(5)},
               flops},
              backward};
  return s;
}

std::vector<std::int64_t> tile_position(const CrossEntropy&, const Signature& signature,
                                        const Region& tile) {
  return {tile[static_cast<std::size_t>(signature.axis("v"))].begin};
}

}  // namespace troika
