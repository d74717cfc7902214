#include "ops/binary.h"

#include <algorithm>
#include <array>

#include "ops/require.h"

namespace troika {
namespace {

Shape broadcast(const TensorSpec& a, const TensorSpec& b) {
  Shape y;
  std::size_t rank = std::max(a.shape.rank(), b.shape.rank());
  for (std::size_t dim = 0; dim < rank; ++dim) {
    // The shorter shape is aligned to the right and extended by ones.
    auto extent = [&](const Shape& shape) {
      return dim + shape.rank() < rank ? 1 : shape[dim + shape.rank() - rank];
    };
    std::int64_t in_a = extent(a.shape), in_b = extent(b.shape);
    require(in_a == in_b || in_a == 1 || in_b == 1, "binary", "cannot broadcast ", a, " with ", b);
    y.push_back(in_a == 1 ? in_b : in_a);
  }
  return y;
}

/// A dimension of extent 1 that was stretched is touched whole.
std::vector<DimMap> dims_of(const Shape& shape, const Shape& y) {
  std::vector<DimMap> dims;
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    std::size_t axis = dim + y.rank() - shape.rank();
    dims.push_back(shape[dim] == y[axis] ? along(static_cast<int>(axis)) : whole_dim());
  }
  return dims;
}

}  // namespace

std::span<const std::string_view> enum_names(BinaryKind) {
  static constexpr std::array<std::string_view, 2> kNames{"add", "multiply"};
  return kNames;
}

Signature signature(const Binary& op, std::span<const TensorSpec> inputs) {
  require_inputs("binary", inputs, 2);
  require(inputs[0].dtype == inputs[1].dtype, "binary", "takes two tensors of one type, not ",
          inputs[0], " and ", inputs[1]);
  Shape y = broadcast(inputs[0], inputs[1]);
  Signature s{.axes = leading_axes(y, y.rank())};
  for (std::size_t axis = 1; axis < y.rank(); ++axis) s.axes[axis].kind = AxisKind::attribute;
  s.slots = {{Role::input, "a", inputs[0], dims_of(inputs[0].shape, y)},
             {Role::input, "b", inputs[1], dims_of(inputs[1].shape, y)},
             {Role::output, "y", {y, inputs[0].dtype}, dims_of(y, y)}};
  Flops flops{y.elements()};
  s.phases = {{Phase::forward, {read(0), read(1), write(2)}, flops}};
  auto gradient = [&](Phase phase, int wanted, int other) {
    if (op.kind == BinaryKind::multiply)
      return PhaseSpec{phase, {read_grad(2), read(other), write_grad(wanted)}, flops};
    // The gradient of a sum is the gradient of y, unless the input was broadcast: then it is
    // summed.
    bool view = inputs[static_cast<std::size_t>(wanted)].shape == y;
    return PhaseSpec{phase, {read_grad(2), write_grad(wanted)}, view ? Flops{} : flops, view};
  };
  s.phases.push_back(gradient(Phase::backward_data, 0, 1));
  s.phases.push_back(gradient(Phase::backward_weight, 1, 0));
  return s;
}

}  // namespace troika
