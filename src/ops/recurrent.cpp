#include "ops/recurrent.h"

#include <array>
#include <cmath>

#include "ops/require.h"

namespace troika {
namespace {

constexpr int kNone = -1;

void check_inputs(const Recurrent& op, const RecurrentSlots& at,
                  std::span<const TensorSpec> inputs) {
  require_inputs("recurrent", inputs, static_cast<std::size_t>(at.w_ih));
  const TensorSpec& x = inputs[0];
  require(x.shape.rank() == 3, "recurrent",
          "takes an input of rank 3 (sample, step, feature), not ", x);
  require(op.hidden > 0, "recurrent", "needs hidden > 0");
  TensorSpec state{{x.shape[0], op.hidden}, x.dtype}, lengths{{x.shape[0]}, DType::i32};
  for (int slot = 1; slot < at.w_ih; ++slot) {
    const TensorSpec &given = inputs[static_cast<std::size_t>(slot)],
                     &expected = slot == at.lengths ? lengths : state;
    require(given == expected, "recurrent", "takes ", expected, " as input ", std::int64_t{slot},
            ", not ", given);
  }
}

/// Weights and outputs in the order of RecurrentSlots.
void add_slots(Signature& s, const Recurrent& op, const TensorSpec& x) {
  std::int64_t n = x.shape[0], t = x.shape[1], i = x.shape[2], h = op.hidden;
  // As in PyTorch.
  Init init{Init::Kind::uniform, 1 / std::sqrt(static_cast<double>(h))};
  auto weight = [&](const char* name, const Shape& shape) {
    s.slots.push_back({.role = Role::weight,
                       .name = name,
                       .spec = {shape, x.dtype},
                       // No axis: each step needs all of the hidden state of the step before, so a
                       // split of the hidden units would have to communicate at every step. Weights
                       // are read whole.
                       .dims = std::vector<DimMap>(shape.rank()),
                       .init = init});
  };
  auto per_sample = [&](Role role, const char* name, const Shape& shape) {
    std::vector<DimMap> dims(shape.rank());
    dims[0] = along(0);
    s.slots.push_back({role, name, {shape, x.dtype}, dims});
  };
  weight("w_ih", {gates_of(op.kind) * h, i});
  weight("w_hh", {gates_of(op.kind) * h, h});
  // One bias per gate: PyTorch's two occur only as their sum. The exception is n of gru, where r
  // multiplies the bias of the hidden state; that is its fourth block.
  weight("bias", {biases_of(op.kind) * h});
  // y holds the hidden state of every step, so backward needs no copy of it.
  per_sample(Role::output, "y", {n, t, h});
  per_sample(Role::output, "h_last", {n, h});
  if (op.kind == RecurrentKind::lstm) per_sample(Role::output, "c_last", {n, h});
  if (op.kind != RecurrentKind::rnn)
    per_sample(Role::saved, "gates", {n, t, saved_of(op.kind) * h});
  if (op.kind == RecurrentKind::lstm) per_sample(Role::saved, "cells", {n, t, h});
}

void add_phases(Signature& s, const Recurrent& op, const RecurrentSlots& at, const Shape& x) {
  PhaseSpec forward{.phase = Phase::forward}, backward{.phase = Phase::backward};
  // Two operations per weight and step; backward multiplies by each weight twice, for the gradients
  // of its input and of itself.
  forward.flops = {checked_product(
      "recurrent", {2, x[0], x[1], gates_of(op.kind), op.hidden, x[2] + op.hidden})};
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

// The order in which add_slots and signature append the slots; optional ones take no index.
RecurrentSlots::RecurrentSlots(const Recurrent& op) {
  bool lstm = op.kind == RecurrentKind::lstm;
  int next = 1;
  auto take = [&](bool there) { return there ? next++ : kNone; };
  h0 = take(op.has_state);
  c0 = take(op.has_state && lstm);
  lengths = take(op.has_lengths);
  w_ih = take(true);
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
  for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
    std::vector<DimMap> dims(inputs[slot].shape.rank());
    dims[0] = along(0);
    int index = static_cast<int>(slot);
    const char* name = index == at.x    ? "x"
                       : index == at.h0 ? "h0"
                       : index == at.c0 ? "c0"
                                        : "lengths";
    s.slots.push_back({.role = Role::input,
                       .name = name,
                       .spec = inputs[slot],
                       .dims = dims,
                       // A length may be t itself, and bounds are exclusive.
                       .bound = index == at.lengths ? x[1] + 1 : 0});
  }
  add_slots(s, op, inputs[0]);
  add_phases(s, op, at, x);
  return s;
}

}  // namespace troika
