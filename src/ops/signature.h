// What the rest of Troika knows about an operator: its iteration axes, the tensors it touches, and
// its phases. Splitting, lowering, memory and cost follow mechanically from a Signature
// (docs/design.md, Axes).
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

/// One direction in which an operator's work can be divided.
struct Axis {
  std::string name;
  AxisKind kind = AxisKind::sample;
  std::int64_t extent = 1;
  /// A tile whose bounds are multiples of this needs no sum in the middle; other tiles run the
  /// staged phases (batch norm inside a shard, cross entropy over a split vocabulary).
  std::int64_t whole = 1;

  bool operator==(const Axis&) const = default;
};

/// How the indices of one tensor dimension follow an axis. A tile [b, e) of the axis touches
///   [b*stride - pad, (e-1)*stride - pad + reach)           (windows, scaled factors, offsets), or
///   if `inverse` [ceil((b+pad-reach+1)/stride), floor((e-1+pad)/stride) + 1)   (transposed
///   windows, division),
/// clipped to the dimension. A dimension with no axis is always touched whole.
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

Range project(const DimMap& map, const Region& tile, std::int64_t extent);

/// What a tensor is to its operator.
enum class Role {
  input,
  weight,  ///< A parameter that training moves by its gradient.
  state,   ///< Persistent, written by updates only: momentum, running statistics.
  output,
  saved,      ///< Written by forward for backward.
  statistic,  ///< A partial that staged phases combine.
  scalars,    ///< Per-step scalars, written by the host (step_scalars.h).
  control,    ///< The step's control word, written by the guard (step_scalars.h).
};

/// How the partials of tiles that lack an axis become one value.
enum class Combine { sum, max };

/// How a parameter starts; element values are a function of (seed, name, element).
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
};

enum class Phase {
  forward,
  backward,         ///< All gradients at once.
  backward_data,    ///< Gradient of the first input.
  backward_weight,  ///< Gradients of the weights, or of the second input.
  update,
  statistics_1,  ///< Staged forward: first sum in the middle,
  statistics_2,  ///< second one,
  apply,         ///< and the rest.
  backward_statistics,
  backward_apply,
};
std::string_view to_string(Phase phase);
Phase parse_phase(std::string_view text);

enum class Access { read, write, update };

/// One tensor that a phase touches: a slot's value or its gradient (same shape and dims).
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
  /// No work: what is written is what is read, under another shape (reshape, gradient of a plain
  /// sum).
  bool view = false;
};

struct Signature {
  std::vector<Axis> axes;
  std::vector<Slot> slots;
  std::vector<PhaseSpec> phases;
  std::vector<PhaseSpec>
      staged;  ///< Instead of `phases` where a tile cuts a `whole` part of an axis.

  /// The phase spec, or nullptr when the operator has no such phase (in either list).
  const PhaseSpec* find(Phase phase) const;
  const PhaseSpec& at(Phase phase) const;
  /// Index of the axis called `name`, or -1.
  int axis(std::string_view name) const;
  /// Slot indices of a role, in declaration order.
  std::vector<int> slots_of(Role role) const;
  Region whole_tile() const;
  bool needs_stages(const Region& tile) const;
};

/// The axes that some tensor of the phase runs along. A phase is run once per tile of these: what
/// it writes is partial over those of them that the written slot lacks.
std::vector<bool> axes_of(const Signature& signature, const PhaseSpec& phase);

/// The part of a slot that a tile touches.
Region region_of(const Slot& slot, const Region& tile);
/// Bytes read and written by a phase, each tensor counted once per access.
Bytes bytes_of(const Signature& signature, const PhaseSpec& phase);

/// Terse builders for the tables in the operator files.
inline Use read(int slot) { return {slot, Access::read, false}; }
inline Use write(int slot) { return {slot, Access::write, false}; }
inline Use update(int slot) { return {slot, Access::update, false}; }
inline Use read_grad(int slot) { return {slot, Access::read, true}; }
inline Use write_grad(int slot) { return {slot, Access::write, true}; }

/// The axes named n, t, u, … for the leading dimensions of a tensor, all of kind sample.
std::vector<Axis> leading_axes(const Shape& shape, std::size_t count);

}  // namespace troika
