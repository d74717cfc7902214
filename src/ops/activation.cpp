#include "ops/activation.h"

#include "ops/require.h"

namespace troika {

std::span<const std::string_view> enum_names(ActivationKind) {
  static constexpr std::array<std::string_view, 6> kNames{"relu",      "leaky_relu", "gelu",
                                                          "gelu_tanh", "sigmoid",    "tanh"};
  return kNames;
}

bool backward_reads_output(ActivationKind kind) {
  switch (kind) {
    case ActivationKind::relu:
    case ActivationKind::leaky_relu:
    case ActivationKind::sigmoid:
    case ActivationKind::tanh:
      return true;
    case ActivationKind::gelu:
    case ActivationKind::gelu_tanh:
      return false;
  }
  return false;
}

Signature signature(const Activation& op, std::span<const TensorSpec> inputs) {
  require_inputs("activation", inputs, 1);
  const Shape& x = inputs[0].shape;
  Signature s{.axes = leading_axes(x, x.rank())};
  std::vector<DimMap> dims;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    dims.push_back(along(static_cast<int>(axis)));
    if (axis > 0) s.axes[axis].kind = AxisKind::attribute;
  }
  s.slots = {{Role::input, "x", inputs[0], dims}, {Role::output, "y", inputs[0], dims}};
  // A rough count: gelu, with an erf or a tanh and several products, counts as ten operations.
  Flops flops{x.elements() * (backward_reads_output(op.kind) ? 1 : 10)};
  int kept = backward_reads_output(op.kind) ? 1 : 0;
  s.phases = {{Phase::forward, {read(0), write(1)}, flops},
              {Phase::backward_data, {read_grad(1), read(kept), write_grad(0)}, flops}};
  return s;
}

}  // namespace troika
