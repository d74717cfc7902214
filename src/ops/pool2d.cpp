#include "ops/pool2d.h"

#include "ops/require.h"
#include "ops/window.h"

namespace troika {
namespace {

// Named like this because sources may be compiled together (TROIKA_UNITY).
namespace pool2d_axes {
enum Axes { kN, kC, kH, kW };
}

Window window_of(const Pool2d& op, std::size_t dim) {
  return {op.window[dim], op.stride[dim], op.pad[dim], op.pad_end[dim]};
}

}  // namespace

std::span<const std::string_view> enum_names(PoolKind) {
  static constexpr std::array<std::string_view, 2> kNames{"max", "average"};
  return kNames;
}

Signature signature(const Pool2d& op, std::span<const TensorSpec> inputs) {
  using namespace pool2d_axes;
  require_inputs("pool2d", inputs, 1);
  const Shape& x = inputs[0].shape;
  require(x.rank() == 4, "pool2d", "takes an input [n,c,h,w], not ", inputs[0]);
  Window rows = window_of(op, 0), columns = window_of(op, 1);
  require_window("pool2d", rows, x[2]);
  require_window("pool2d", columns, x[3]);
  Shape y{x[0], x[1], window_count(rows, x[2]), window_count(columns, x[3])};

  Signature s{.axes = {{"n", AxisKind::sample, y[0]},
                       {"c", AxisKind::attribute, y[1]},
                       {"h", AxisKind::attribute, y[2]},
                       {"w", AxisKind::attribute, y[3]}}};
  s.slots = {
      {Role::input,
       "x",
       inputs[0],
       {along(kN), along(kC), window_map(kH, rows, x[2]), window_map(kW, columns, x[3])}},
      {Role::output, "y", {y, inputs[0].dtype}, {along(kN), along(kC), along(kH), along(kW)}}};
  Flops flops{y.elements() * op.window[0] * op.window[1]};
  s.phases = {{Phase::forward, {read(0), write(1)}, flops},
              {Phase::backward_data, {read_grad(1), write_grad(0)}, flops}};
  // Backward of max reads x again. Saved indices would take memory from forward to backward.
  if (op.kind == PoolKind::max) s.phases[1].uses = {read(0), read_grad(1), write_grad(0)};
  return s;
}

Pool2d localize(const Pool2d& op, const Signature& signature, const Region& tile) {
  using namespace pool2d_axes;
  Pool2d local = op;
  Region x = region_of(signature.slots[0], tile);
  for (std::size_t dim : {0u, 1u}) {
    Pads pads = local_pads(window_of(op, dim), tile[kH + dim], x[2 + dim]);
    local.pad[dim] = pads.begin;
    local.pad_end[dim] = pads.end;
  }
  return local;
}

}  // namespace troika
