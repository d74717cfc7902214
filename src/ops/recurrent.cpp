#include "ops/recurrent.h"

#include <array>
#include <cmath>

#include "ops/require.h"

namespace troika {
namespace {

constexpr int kNone = -1;

bool has_unit_axis(const Recurrent& op, const Shape& x) { return op.projected && x[1] == 1; }

void check_attributes(const Recurrent& op, const TensorSpec& x) {
  require(x.shape.rank() == (op.projected ? 4 : 3), "recurrent",
          op.projected ? "takes a projected input of rank 4 (sample, step, gate, unit), not "
                       : "takes an input of rank 3 (sample, step, feature), not ",
          x);
  require(op.hidden > 0, "recurrent", "needs hidden > 0");
  require(op.units >= 0 && op.units <= op.hidden, "recurrent", "needs units in [0, hidden]");
  require(op.units == 0 || has_unit_axis(op, x.shape), "recurrent",
          "computes a part of its units in one projected step only, not in ", x);
  require(!op.projected || (x.shape[2] == gates_of(op.kind) && x.shape[3] == units_of(op)),
          "recurrent", "takes a projected input of ", gates_of(op.kind), " gates and ",
          units_of(op), " units, not ", x);
  require(op.begin >= 0 && (op.sequence == 0 || op.begin + x.shape[1] <= op.sequence), "recurrent",
          "lies outside of its sequence");
}

void check_inputs(const Recurrent& op, const RecurrentSlots& at,
                  std::span<const TensorSpec> inputs) {
  int count = op.projected ? at.w_hh : at.w_ih;
  require_inputs("recurrent", inputs, static_cast<std::size_t>(count));
  const TensorSpec& x = inputs[0];
  check_attributes(op, x);
  std::int64_t n = x.shape[0];
  // The product with U reads all of h, but each unit only its own c.
  TensorSpec h0{{n, op.hidden}, x.dtype}, c0{{n, units_of(op)}, x.dtype}, lengths{{n}, DType::i32};
  for (int slot = 1; slot < count; ++slot) {
    const TensorSpec &given = inputs[static_cast<std::size_t>(slot)],
                     &expected = slot == at.lengths ? lengths
                                 : slot == at.c0    ? c0
                                                    : h0;
    require(given == expected, "recurrent", "takes ", expected, " as input ", std::int64_t{slot},
            ", not ", given);
  }
}

/// The two axes as dimensions of a tensor; `unit` is read whole if there is no axis of units.
struct Dims {
  DimMap sample, unit;
};

const char* input_name(const Recurrent& op, const RecurrentSlots& at, int slot) {
  if (slot == at.x) return op.projected ? "p" : "x";
  if (slot == at.h0) return "h0";
  return slot == at.c0 ? "c0" : "lengths";
}

void add_inputs(Signature& s, const Recurrent& op, const RecurrentSlots& at,
                std::span<const TensorSpec> inputs, const Dims& dims) {
  for (const TensorSpec& spec : inputs) {
    int index = static_cast<int>(s.slots.size());
    Slot slot{.role = Role::input,
              .name = input_name(op, at, index),
              .spec = spec,
              .dims = std::vector<DimMap>(spec.shape.rank())};
    slot.dims[0] = dims.sample;
    if (index == at.c0 || (index == at.x && op.projected)) slot.dims.back() = dims.unit;
    // A length may be that of the sequence, and bounds are exclusive.
    std::int64_t end = op.sequence > 0 ? op.sequence : op.begin + inputs[0].shape[1];
    if (index == at.lengths) slot.bound = end + 1;
    s.slots.push_back(std::move(slot));
  }
}

/// Weights in the order of RecurrentSlots.
void add_weights(Signature& s, const Recurrent& op, const TensorSpec& x, const Dims& dims) {
  std::int64_t h = units_of(op), gates = gates_of(op.kind);
  // As in PyTorch.
  Init init{Init::Kind::uniform, 1 / std::sqrt(static_cast<double>(op.hidden))};
  auto weight = [&](const char* name, const Shape& shape) {
    s.slots.push_back({.role = Role::weight,
                       .name = name,
                       .spec = {shape, x.dtype},
                       // Several steps have no axis of units: each needs all of the hidden state of
                       // the step before, so a split would have to communicate at every step.
                       .dims = std::vector<DimMap>(shape.rank()),
                       .init = init,
                       .merged = 2});
    s.slots.back().dims[1] = dims.unit;
  };
  if (!op.projected) weight("w_ih", {gates, h, x.shape[2]});
  weight("w_hh", {gates, h, op.hidden});
  // One bias per gate: PyTorch's two occur only as their sum. The exception is n of gru, where r
  // multiplies the bias of the hidden state; that is its fourth block.
  weight("bias", {biases_of(op.kind), h});
}

/// Outputs and saved tensors in the order of RecurrentSlots.
void add_results(Signature& s, const Recurrent& op, const TensorSpec& x, const Dims& dims) {
  std::int64_t n = x.shape[0], t = x.shape[1], h = units_of(op);
  auto per_sample = [&](Role role, const char* name, const Shape& shape) {
    std::vector<DimMap> all(shape.rank());
    all.front() = dims.sample, all.back() = dims.unit;
    s.slots.push_back({role, name, {shape, x.dtype}, all});
  };
  // y holds the hidden state of every step, so backward needs no copy of it.
  per_sample(Role::output, "y", {n, t, h});
  per_sample(Role::output, "h_last", {n, h});
  if (op.kind == RecurrentKind::lstm) per_sample(Role::output, "c_last", {n, h});
  if (op.kind != RecurrentKind::rnn) per_sample(Role::saved, "gates", {n, t, saved_of(op.kind), h});
  if (op.kind == RecurrentKind::lstm) per_sample(Role::saved, "cells", {n, t, h});
}

void add_phases(Signature& s, const Recurrent& op, const RecurrentSlots& at, const Shape& x) {
  PhaseSpec forward{.phase = Phase::forward}, backward{.phase = Phase::backward};
  // Two operations per weight and step; backward multiplies by each weight twice, for the gradients
  // of its input and of itself.
  forward.flops = {checked_product("recurrent", {2, x[0], x[1], gates_of(op.kind), units_of(op),
                                                 op.projected ? op.hidden : x[2] + op.hidden})};
  backward.flops = forward.flops * 2;
  auto slots = static_cast<int>(s.slots.size());
  for (int slot = 0; slot < slots; ++slot) {
    forward.uses.push_back(slot < at.y ? read(slot) : write(slot));
    // Backward needs neither the bias nor the last states.
    if (slot != at.bias && slot != at.h_last && slot != at.c_last)
      backward.uses.push_back(read(slot));
  }
  for (int slot : s.slots_of(Role::output)) backward.uses.push_back(read_grad(slot));
  for (int slot = 0; slot < at.y; ++slot) {
    if (slot != at.lengths) backward.uses.push_back(write_grad(slot));
  }
  s.phases = {forward, backward};
}

}  // namespace

std::span<const std::string_view> enum_names(RecurrentKind) {
  static constexpr std::array<std::string_view, 3> kNames{"lstm", "gru", "rnn"};
  return kNames;
}

std::int64_t gates_of(RecurrentKind kind) {
  return kind == RecurrentKind::lstm ? 4 : kind == RecurrentKind::gru ? 3 : 1;
}
std::int64_t biases_of(RecurrentKind kind) { return kind == RecurrentKind::rnn ? 1 : 4; }
std::int64_t saved_of(RecurrentKind kind) { return kind == RecurrentKind::rnn ? 0 : 4; }
std::int64_t units_of(const Recurrent& op) { return op.units > 0 ? op.units : op.hidden; }

// The order in which add_slots and signature append the slots; optional ones take no index.
RecurrentSlots::RecurrentSlots(const Recurrent& op) {
  bool lstm = op.kind == RecurrentKind::lstm;
  int next = 1;
  auto take = [&](bool there) { return there ? next++ : kNone; };
  h0 = take(op.has_state);
  c0 = take(op.has_state && lstm);
  lengths = take(op.has_lengths);
  w_ih = take(!op.projected);
  w_hh = take(true);
  bias = take(true);
  y = take(true);
  h_last = take(true);
  c_last = take(lstm);
  gates = take(op.kind != RecurrentKind::rnn);
  cells = take(lstm);
}

Signature signature(const Recurrent& op, std::span<const TensorSpec> inputs) {
  RecurrentSlots at(op);
  check_inputs(op, at, inputs);
  const Shape& x = inputs[0].shape;
  Signature s{.axes = leading_axes(x, 1)};
  Dims dims{along(0), whole_dim()};
  if (has_unit_axis(op, x)) {
    s.axes.push_back({"u", AxisKind::parameter, units_of(op)});
    dims.unit = along(1);
  }
  add_inputs(s, op, at, inputs, dims);
  add_weights(s, op, inputs[0], dims);
  add_results(s, op, inputs[0], dims);
  add_phases(s, op, at, x);
  return s;
}

Recurrent localize(const Recurrent& op, const Signature& signature, const Region& tile) {
  Recurrent local = op;
  local.begin = 0;
  // Only the bound of lengths depends on the sequence.
  if (!op.has_lengths) local.sequence = 0;
  if (int u = signature.axis("u"); u >= 0) local.units = tile[static_cast<std::size_t>(u)].extent();
  if (local.units == op.hidden) local.units = 0;
  return local;
}

std::vector<std::int64_t> tile_position(const Recurrent& op, const Signature& signature,
                                        const Region& tile) {
  int u = signature.axis("u");
  return {op.begin, u < 0 ? 0 : tile[static_cast<std::size_t>(u)].begin};
}

}  // namespace troika
