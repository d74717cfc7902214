// The elementwise part of one step of one sample; formulas in ops/recurrent.h. Blocks of `units`
// numbers follow one another.
#pragma once

#include "kernels/cpu/loops.h"
#include "kernels/cpu/vector_math.h"
#include "ops/recurrent.h"

namespace troika {

struct ForwardCell {
  std::int64_t units;
  float* gates;  ///< Receives the values saved for backward; of rnn there are none.
  const float *from_x, *from_h, *bias;  ///< `from_x` may be where the gates are saved.
  float *h, *c;                         ///< The state, moved by one step.
  float *y, *cells;                     ///< Copies of it.

  TROIKA_INLINE float sum(std::int64_t block, std::int64_t j) const {
    std::int64_t at = block * units + j;
    return from_x[at] + from_h[at] + bias[at];
  }
};

inline void lstm_forward(const ForwardCell& cell) {
  run_range(0, cell.units, [cell](std::int64_t j) {
    float i = vector_sigmoid(cell.sum(0, j)), f = vector_sigmoid(cell.sum(1, j));
    float g = vector_tanh(cell.sum(2, j)), o = vector_sigmoid(cell.sum(3, j));
    float c = f * cell.c[j] + i * g, h = o * vector_tanh(c);
    float* gates = cell.gates + j;
    gates[0] = i;
    gates[cell.units] = f;
    gates[2 * cell.units] = g;
    gates[3 * cell.units] = o;
    cell.c[j] = cell.cells[j] = c;
    cell.h[j] = cell.y[j] = h;
  });
}

/// Saves r, z, n and m = U h + b_m.
inline void gru_forward(const ForwardCell& cell) {
  run_range(0, cell.units, [cell](std::int64_t j) {
    float* gates = cell.gates + j;
    const float* bias = cell.bias + j;
    float r = vector_sigmoid(cell.sum(0, j)), z = vector_sigmoid(cell.sum(1, j));
    float m = cell.from_h[2 * cell.units + j] + bias[3 * cell.units];
    float n = vector_tanh(cell.from_x[2 * cell.units + j] + bias[2 * cell.units] + r * m);
    gates[0] = r;
    gates[cell.units] = z;
    gates[2 * cell.units] = n;
    gates[3 * cell.units] = m;
    cell.h[j] = cell.y[j] = (1 - z) * n + z * cell.h[j];
  });
}

inline void rnn_forward(const ForwardCell& cell) {
  run_range(0, cell.units,
            [cell](std::int64_t j) { cell.h[j] = cell.y[j] = vector_tanh(cell.sum(0, j)); });
}

inline void cell_forward(RecurrentKind kind, const ForwardCell& cell) {
  switch (kind) {
    case RecurrentKind::lstm:
      return lstm_forward(cell);
    case RecurrentKind::gru:
      return gru_forward(cell);
    case RecurrentKind::rnn:
      return rnn_forward(cell);
  }
}

struct BackwardCell {
  std::int64_t units;
  const float *gates, *y, *cells, *h_before, *c_before, *dy;
  float *dh, *dc;  ///< From after the step to before it; dh lacks the part through U.
  /// Before the nonlinearities: of the input projection and of U h, which differ in the block n of
  /// gru only.
  float *dfrom_x, *dfrom_h;

  TROIKA_INLINE void set(std::int64_t block, std::int64_t j, float gradient) const {
    dfrom_x[block * units + j] = dfrom_h[block * units + j] = gradient;
  }
};

inline void lstm_backward(const BackwardCell& cell) {
  run_range(0, cell.units, [cell](std::int64_t j) {
    const float* gates = cell.gates + j;
    float i = gates[0], f = gates[cell.units], g = gates[2 * cell.units], o = gates[3 * cell.units];
    float dh = cell.dh[j] + cell.dy[j], tanh_c = vector_tanh(cell.cells[j]);
    float dc = cell.dc[j] + dh * o * (1 - tanh_c * tanh_c);
    cell.set(0, j, dc * g * i * (1 - i));
    cell.set(1, j, dc * cell.c_before[j] * f * (1 - f));
    cell.set(2, j, dc * i * (1 - g * g));
    cell.set(3, j, dh * tanh_c * o * (1 - o));
    cell.dc[j] = dc * f;
    cell.dh[j] = 0;
  });
}

inline void gru_backward(const BackwardCell& cell) {
  run_range(0, cell.units, [cell](std::int64_t j) {
    const float* gates = cell.gates + j;
    float r = gates[0], z = gates[cell.units], n = gates[2 * cell.units], m = gates[3 * cell.units];
    float dh = cell.dh[j] + cell.dy[j], dn = dh * (1 - z) * (1 - n * n);
    cell.set(0, j, dn * m * r * (1 - r));
    cell.set(1, j, dh * (cell.h_before[j] - n) * z * (1 - z));
    cell.dfrom_x[2 * cell.units + j] = dn;
    cell.dfrom_h[2 * cell.units + j] = dn * r;
    cell.dh[j] = dh * z;
  });
}

inline void rnn_backward(const BackwardCell& cell) {
  run_range(0, cell.units, [cell](std::int64_t j) {
    float h = cell.y[j];
    cell.set(0, j, (cell.dh[j] + cell.dy[j]) * (1 - h * h));
    cell.dh[j] = 0;
  });
}

inline void cell_backward(RecurrentKind kind, const BackwardCell& cell) {
  switch (kind) {
    case RecurrentKind::lstm:
      return lstm_backward(cell);
    case RecurrentKind::gru:
      return gru_backward(cell);
    case RecurrentKind::rnn:
      return rnn_backward(cell);
  }
}

}  // namespace troika
