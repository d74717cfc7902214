#include "ops/update_rule.h"

#include "ops/step_scalars.h"

namespace troika {

Signature update_signature(const TensorSpec& parameter, std::span<const std::string> states,
                           std::int64_t flops_per_element) {
  const Shape& shape = parameter.shape;
  Signature s{.axes = leading_axes(shape, shape.rank())};
  std::vector<DimMap> dims;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    s.axes[axis].kind = AxisKind::parameter;
    dims.push_back(along(static_cast<int>(axis)));
  }
  s.slots = {{Role::weight, "weight", parameter, dims},
             {Role::scalars, "scalars", {{kScalarCount}, DType::f64}, {whole_dim()}},
             {Role::control, "control", {{kControlCount}, DType::f64}, {whole_dim()}}};
  // Scalars and control are read from buffers, not stored in the operator, because the graph is the
  // same in every step (law 3).
  PhaseSpec phase{Phase::update,
                  {update(0), read_grad(0), read(1), read(2)},
                  {flops_per_element * shape.elements()}};
  for (const std::string& state : states) {
    phase.uses.push_back(update(static_cast<int>(s.slots.size())));
    s.slots.push_back({Role::state, state, parameter, dims});
  }
  s.phases = {phase};
  return s;
}

Signature normed_update_signature(Signature s) {
  // A norm covers the whole parameter, so every split needs the staged phases.
  for (Axis& axis : s.axes) axis.whole = axis.extent;
  auto sums = static_cast<int>(s.slots.size());
  s.slots.push_back({Role::statistic, "square_sums", {{2}, DType::f64}, {whole_dim()}});
  const PhaseSpec& whole = s.phases[0];
  // Reads the weight, gradient and states of the update without changing them: every slice must
  // compute its norms from the values before the step.
  PhaseSpec statistics{.phase = Phase::statistics_1, .flops = whole.flops};
  for (const Use& use : whole.uses)
    statistics.uses.push_back({use.slot, Access::read, use.gradient});
  statistics.uses.push_back(write(sums));
  // The same accesses as `update`, after the square sums of all slices are combined.
  PhaseSpec apply{Phase::apply, whole.uses, whole.flops};
  apply.uses.push_back(read(sums));
  s.staged = {statistics, apply};
  return s;
}

}  // namespace troika
