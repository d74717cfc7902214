// The description of an operator that the rest of Troika uses: iteration axes, tensors and phases.
// Splitting, lowering, memory and cost are derived from a Signature (docs/design.md, Axes).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "tensor/region.h"
#include "tensor/tensor_spec.h"

namespace troika {

enum class AxisKind { sample, attribute, parameter, reduction };
std::string_view to_string(AxisKind kind);

/// One dimension of the iteration space, along which the work can be split.
struct Axis {
  std::string name;
  AxisKind kind = AxisKind::sample;
  std::int64_t extent = 1;
  /// A tile whose bounds are multiples of this can be computed in one phase. Other tiles run the
  /// staged phases (batch norm inside a shard, cross entropy over a split vocabulary).
  std::int64_t whole = 1;

  bool operator==(const Axis&) const = default;
};

/// Maps a range of an axis to the indices of a tensor dimension. A tile [b, e) of the axis accesses
///   [b*stride - pad, (e-1)*stride - pad + reach)           (windows, scaled factors, offsets), or
///   if `inverse` [ceil((b+pad-reach+1)/stride), floor((e-1+pad)/stride) + 1)   (transposed
///   windows, division),
/// clipped to the dimension. A dimension without an axis is always accessed whole.
struct DimMap {
  static constexpr int kNoAxis = -1;
  int axis = kNoAxis;
  std::int64_t stride = 1;
  std::int64_t pad = 0;
  std::int64_t reach = 1;
  bool inverse = false;

  bool operator==(const DimMap&) const = default;
};

inline DimMap whole_dim() { return {}; }
inline DimMap along(int axis) { return {.axis = axis}; }
/// `factor` neighbouring indices belong to each step of the axis.
inline DimMap scaled(int axis, std::int64_t factor) {
  return {.axis = axis, .stride = factor, .reach = factor};
}
/// Each index belongs to `unit` neighbouring steps of the axis.
inline DimMap divided(int axis, std::int64_t unit) {
  return {.axis = axis, .stride = unit, .reach = unit, .inverse = true};
}

/// The indices that a part of the axis touches, before they are clipped to the dimension. The part
/// is not empty.
Range touched_by(const DimMap& map, Range part);
Range project(const DimMap& map, const Region& tile, std::int64_t extent);

/// The role of a tensor in its operator.
enum class Role {
  input,
  weight,  ///< A parameter that is trained by its gradient.
  state,   ///< Persistent, written by updates only: momentum, running statistics.
  output,
  saved,      ///< Written by forward for backward.
  statistic,  ///< A partial that staged phases combine.
  scalars,    ///< Per-step scalars, written by the host (step_scalars.h).
  control,    ///< The step's control word, written by the guard (step_scalars.h).
};

/// The rule that combines the partial results of several tiles.
enum class Combine { sum, max };

/// The initial value of a parameter. Elements are a function of (seed, name, element).
struct Init {
  enum class Kind { zeros, ones, normal, uniform };
  Kind kind = Kind::zeros;
  double scale = 0;  ///< Standard deviation, or half-width of the interval.

  bool operator==(const Init&) const = default;
};

struct Slot {
  Role role = Role::input;
  std::string name;
  TensorSpec spec;
  std::vector<DimMap> dims;  ///< One per dimension of spec.shape.
  Combine combine = Combine::sum;
  Init init{};             ///< Weights and states.
  std::int64_t bound = 0;  ///< For integer inputs: values lie in [0, bound).
  /// Of weights and states: number of leading dimensions that files store as one, as PyTorch does.
  std::size_t merged = 1;
};

enum class Phase {
  forward,
  backward,         ///< All gradients at once.
  backward_data,    ///< Gradient of the first input.
  backward_weight,  ///< Gradients of the weights, or of the second input.
  update,
  statistics_1,  ///< Staged forward: first partial result that is combined over tiles.
  statistics_2,  ///< Staged forward: second one.
  apply,         ///< Staged forward or update: the rest.
  backward_statistics,
  backward_apply,
};
std::string_view to_string(Phase phase);
Phase parse_phase(std::string_view text);
/// Of the backward half of a step, staged or not.
bool is_backward(Phase phase);

enum class Access { read, write, update };

/// One tensor that a phase accesses: the value of a slot or its gradient (same shape and dims).
struct Use {
  int slot = 0;
  Access access = Access::read;
  bool gradient = false;

  bool operator==(const Use&) const = default;
};

struct PhaseSpec {
  Phase phase = Phase::forward;
  std::vector<Use> uses;
  Flops flops{};
  /// No work: the output is the input under another shape (reshape, gradient of a plain sum).
  bool view = false;
};

struct Signature {
  std::vector<Axis> axes;
  std::vector<Slot> slots;
  std::vector<PhaseSpec> phases;
  /// Used instead of `phases` if a tile cuts a `whole` part of an axis.
  std::vector<PhaseSpec> staged;

  /// The phase in either list, or nullptr.
  const PhaseSpec* find(Phase phase) const;
  const PhaseSpec& at(Phase phase) const;
  /// Index of the axis called `name`, or -1.
  int axis(std::string_view name) const;
  /// Slot indices of a role, in declaration order.
  std::vector<int> slots_of(Role role) const;
  Region whole_tile() const;
  bool needs_stages(const Region& tile) const;
};

/// Returns which axes the tensors of a phase have. The phase runs once per tile of these axes; an
/// output is partial over those axes that its slot does not have.
std::vector<bool> axes_of(const Signature& signature, const PhaseSpec& phase);

/// The region of a slot that a tile accesses.
Region region_of(const Slot& slot, const Region& tile);
/// Bytes read and written by a phase, each tensor counted once per access.
Bytes bytes_of(const Signature& signature, const PhaseSpec& phase);

/// Short names for the tables in the operator files.
inline Use read(int slot) { return {slot, Access::read, false}; }
inline Use write(int slot) { return {slot, Access::write, false}; }
inline Use update(int slot) { return {slot, Access::update, false}; }
inline Use read_grad(int slot) { return {slot, Access::read, true}; }
inline Use write_grad(int slot) { return {slot, Access::write, true}; }

/// Axes n, t, u, … for the first `count` dimensions of a tensor, all of kind sample.
std::vector<Axis> leading_axes(const Shape& shape, std::size_t count);

}  // namespace troika
