#include "ops/conv_transpose2d.h"

#include <algorithm>
#include <cmath>

#include "ops/require.h"

namespace troika {
namespace {

// Named like this because sources may be compiled together (TROIKA_UNITY).
namespace conv_transpose2d_axes {
enum Axes { kN, kH, kW, kO, kI };
}

std::int64_t output_extent(const ConvTranspose2d& op, std::size_t dim, std::int64_t extent) {
  return (extent - 1) * op.stride[dim] + op.kernel[dim] - op.pad[dim] - op.pad_end[dim];
}

/// The reach is enlarged so that every output has an input, even if it only gets zeros, and every
/// input has an output. So every tile has a part of x, and the parts cover x.
DimMap input_map(const ConvTranspose2d& op, std::size_t dim, int axis) {
  std::int64_t kernel = op.kernel[dim];
  return {.axis = axis,
          .stride = op.stride[dim],
          .pad = op.pad[dim],
          // The stride closes the gaps between the outputs of neighbouring inputs. kernel - pad_end
          // reaches the last input from rows added at the end, and pad + 1 reaches the first input
          // from output 0.
          .reach = std::max({kernel, op.stride[dim], kernel - op.pad_end[dim], op.pad[dim] + 1}),
          .inverse = true};
}

void require_fit(const ConvTranspose2d& op, std::span<const TensorSpec> inputs) {
  require_inputs("conv_transpose2d", inputs, 1);
  require(inputs[0].shape.rank() == 4, "conv_transpose2d", "takes an input [n,c,h,w], not ",
          inputs[0]);
  require(op.out > 0, "conv_transpose2d", "needs out > 0");
  for (std::size_t dim : {0u, 1u}) {
    require(op.kernel[dim] > 0 && op.stride[dim] > 0, "conv_transpose2d",
            "needs a kernel and a stride of at least 1");
    // input_map can assign the first input to output 0, but it has no term for a last input whose
    // outputs are all cut off.
    require(op.pad_end[dim] < op.kernel[dim], "conv_transpose2d", "with padding ", op.pad_end[dim],
            " behind removes everything that the last input contributes; give a padding below the "
            "kernel's ",
            op.kernel[dim]);
    require(output_extent(op, dim, inputs[0].shape[2 + dim]) > 0, "conv_transpose2d",
            "with padding ", op.pad[dim], " and ", op.pad_end[dim], " leaves nothing of ",
            inputs[0]);
  }
}

}  // namespace

Signature signature(const ConvTranspose2d& op, std::span<const TensorSpec> inputs) {
  using namespace conv_transpose2d_axes;
  require_fit(op, inputs);
  const Shape& x = inputs[0].shape;
  DType dtype = inputs[0].dtype;
  Shape y{x[0], op.out, output_extent(op, 0, x[2]), output_extent(op, 1, x[3])};
  Signature s{.axes = {{"n", AxisKind::sample, y[0]},
                       {"h", AxisKind::attribute, y[2]},
                       {"w", AxisKind::attribute, y[3]},
                       {"o", AxisKind::parameter, op.out},
                       {"i", AxisKind::reduction, x[1]}}};
  // The default start is that of PyTorch, which takes the fan-in from dimension 1 of the weight.
  std::int64_t taps = op.kernel[0] * op.kernel[1];
  s.slots = {{Role::input,
              "x",
              inputs[0],
              {along(kN), along(kI), input_map(op, 0, kH), input_map(op, 1, kW)}},
             {.role = Role::weight,
              .name = "weight",
              .spec = {{x[1], op.out, op.kernel[0], op.kernel[1]}, dtype},
              .dims = {along(kI), along(kO), whole_dim(), whole_dim()},
              .init = {Init::Kind::uniform, 1 / std::sqrt(static_cast<double>(op.out * taps))}},
             {Role::output, "y", {y, dtype}, {along(kN), along(kO), along(kH), along(kW)}}};
  // Each input element is multiplied by every tap of every output channel. Products that the
  // padding cuts off are counted too.
  Flops flops{checked_product("conv_transpose2d", {2, x.elements(), op.out, taps})};
  s.phases = {{Phase::forward, {read(0), read(1), write(2)}, flops},
              {Phase::backward_data, {read_grad(2), read(1), write_grad(0)}, flops},
              {Phase::backward_weight, {read(0), read_grad(2), write_grad(1)}, flops}};
  return s;
}

ConvTranspose2d localize(const ConvTranspose2d& op, const Signature& signature,
                         const Region& tile) {
  using namespace conv_transpose2d_axes;
  ConvTranspose2d local = op;
  local.out = tile[kO].extent();
  Region x = region_of(signature.slots[0], tile);
  for (std::size_t dim : {0u, 1u}) {
    Range outputs = tile[kH + dim], inputs = x[2 + dim];
    // Output h of the whole is row h + pad of the full result; the part of the inputs begins at row
    // inputs.begin * stride of it. Whatever the part produces beyond the outputs of the tile is cut
    // at the end, hence the extent with pad_end = 0 first.
    local.pad[dim] = op.pad[dim] + outputs.begin - inputs.begin * op.stride[dim];
    local.pad_end[dim] = 0;
    local.pad_end[dim] = output_extent(local, dim, inputs.extent()) - outputs.extent();
  }
  return local;
}

}  // namespace troika
