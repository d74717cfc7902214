#include "ops/sample_loss.h"

#include "ops/require.h"

namespace troika {

Signature sample_loss_signature(std::string_view op, std::span<const TensorSpec> inputs,
                                std::int64_t flops_per_element) {
  require_inputs(op, inputs, 3);
  const TensorSpec &x = inputs[0], &target = inputs[1];
  require(x.shape.rank() >= 1, op, "takes an input of rank 1 or more, not ", x);
  TensorSpec per_sample{{x.shape[0]}, x.dtype}, total{{1}, DType::f64};
  require(target == x || target == per_sample, op,
          "takes a target of x's shape or one per sample, not ", target, " for ", x);
  require(inputs[2] == per_sample, op, "takes one weight per sample, not ", inputs[2], " for ", x);
  // Only n is an axis: the loss of a sample is a mean over its elements, and a part of a sample
  // would not know their number.
  auto dims = [](const TensorSpec& spec) {
    std::vector<DimMap> all(spec.shape.rank());
    all[0] = along(0);
    return all;
  };
  Signature s{.axes = leading_axes(x.shape, 1)};
  s.slots = {{Role::input, "x", x, dims(x)},
             {Role::input, "target", target, dims(target)},
             {Role::input, "weight", inputs[2], dims(inputs[2])},
             {Role::output, "loss_sum", total, {whole_dim()}},
             {Role::output, "weight_sum", total, {whole_dim()}}};
  Flops flops{flops_per_element * x.shape.elements()};
  s.phases = {{Phase::forward, {read(0), read(1), read(2), write(3), write(4)}, flops},
              // Backward does not read the gradient of loss_sum, which is 1 for the loss of a
              // graph.
              {Phase::backward_data, {read(0), read(1), read(2), write_grad(0)}, flops}};
  return s;
}

}  // namespace troika
