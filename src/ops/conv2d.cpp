#include "ops/conv2d.h"

#include <cmath>

#include "ops/require.h"

namespace troika {
namespace {

// Named, because sources may be compiled together (TROIKA_UNITY) and other operators have such an
// enum too.
namespace conv2d_axes {
// Order of the axes in the signature. The axis g takes the place of o: an operator has either o and
// i or g.
enum Axes { kN, kH, kW, kO, kI, kG = kO };
}  // namespace conv2d_axes

/// The window along rows (dim 0) or columns (dim 1). With dilation it reaches from its first to its
/// last tap.
Window window_of(const Conv2d& op, std::size_t dim) {
  return {(op.kernel[dim] - 1) * op.dilation[dim] + 1, op.stride[dim], op.pad[dim],
          op.pad_end[dim]};
}

void require_fit(const Conv2d& op, std::span<const TensorSpec> inputs) {
  require_inputs("conv2d", inputs, 1);
  require(inputs[0].shape.rank() == 4, "conv2d", "takes an input [n,c,h,w], not ", inputs[0]);
  require(op.out > 0 && op.groups > 0, "conv2d", "needs out > 0 and groups > 0");
  require(op.out % op.groups == 0 && inputs[0].shape[1] % op.groups == 0, "conv2d", "with ",
          op.groups, " groups cannot divide ", inputs[0].shape[1], " channels into ", op.out);
  for (std::size_t dim : {0u, 1u}) {
    require(op.kernel[dim] > 0 && op.dilation[dim] > 0, "conv2d",
            "needs a kernel and a dilation of at least 1");
    require_window("conv2d", window_of(op, dim), inputs[0].shape[2 + dim]);
  }
}

}  // namespace

Signature signature(const Conv2d& op, std::span<const TensorSpec> inputs) {
  using namespace conv2d_axes;
  require_fit(op, inputs);
  const Shape& x = inputs[0].shape;
  DType dtype = inputs[0].dtype;
  Window rows = window_of(op, 0), columns = window_of(op, 1);
  std::int64_t in = x[1] / op.groups, out = op.out / op.groups;
  Shape y{x[0], op.out, window_count(rows, x[2]), window_count(columns, x[3])};

  Signature s{.axes = {{"n", AxisKind::sample, y[0]},
                       {"h", AxisKind::attribute, y[2]},
                       {"w", AxisKind::attribute, y[3]}}};
  // y has no axis i, and the weight has no axis n, h or w: a split of i gives partial sums of y, a
  // split of n, h or w partial gradients of the weight. Lowering adds them up.
  DimMap x_channel = along(kI), y_channel = along(kO), weight_in = along(kI);
  if (op.groups == 1) {
    s.axes.push_back({"o", AxisKind::parameter, op.out});
    s.axes.push_back({"i", AxisKind::reduction, in});
  } else {
    // An output channel reads only the inputs of its own group, so a tile holds whole groups: `in`
    // channels of x and `out` channels of y per step of g.
    s.axes.push_back({"g", AxisKind::parameter, op.groups});
    x_channel = scaled(kG, in), y_channel = scaled(kG, out), weight_in = whole_dim();
  }
  // The default start is uniform with half-width 1/sqrt(fan_in), as in PyTorch.
  std::int64_t fan_in = in * op.kernel[0] * op.kernel[1];
  s.slots = {{Role::input,
              "x",
              inputs[0],
              {along(kN), x_channel, window_map(kH, rows, x[2]), window_map(kW, columns, x[3])}},
             {.role = Role::weight,
              .name = "weight",
              .spec = {{op.out, in, op.kernel[0], op.kernel[1]}, dtype},
              .dims = {y_channel, weight_in, whole_dim(), whole_dim()},
              .init = {Init::Kind::uniform, 1 / std::sqrt(static_cast<double>(fan_in))}},
             {Role::output, "y", {y, dtype}, {along(kN), y_channel, along(kH), along(kW)}}};
  Flops flops{checked_product("conv2d", {2, y.elements(), fan_in})};
  s.phases = {{Phase::forward, {read(0), read(1), write(2)}, flops},
              {Phase::backward_data, {read_grad(2), read(1), write_grad(0)}, flops},
              {Phase::backward_weight, {read(0), read_grad(2), write_grad(1)}, flops}};
  return s;
}

Conv2d localize(const Conv2d& op, const Signature& signature, const Region& tile) {
  using namespace conv2d_axes;
  Conv2d local = op;
  if (op.groups == 1) {
    // The i axis needs no attribute: the number of input channels follows from the tile of x.
    local.out = tile[kO].extent();
  } else {
    local.groups = tile[kG].extent();
    local.out = op.out / op.groups * local.groups;
  }
  Region x = region_of(signature.slots[0], tile);
  for (std::size_t dim : {0u, 1u}) {
    // The tile of x includes its halo, so only tiles at the border of the image are padded. Padding
    // changes the work, so it is part of the kernel key and not of a position.
    Pads pads = local_pads(window_of(op, dim), tile[kH + dim], x[2 + dim]);
    local.pad[dim] = pads.begin;
    local.pad_end[dim] = pads.end;
  }
  return local;
}

}  // namespace troika
