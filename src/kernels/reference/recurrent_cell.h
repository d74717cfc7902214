// The elementwise part of one step of an LSTM, GRU or RNN, forward and backward, for one unit of
// one sample.
#pragma once

#include <cmath>

#include "ops/recurrent.h"

namespace troika {

template <class T>
T sigmoid(T x) {
  return 1 / (1 + std::exp(-x));
}

/// Everything of one unit at one step. Blocks are in the order of the weights; `saved` is what
/// forward keeps.
template <class T>
struct CellUnit {
  T from_x[4]{}, from_h[4]{}, bias[4]{};  ///< W x, U h, b.
  T h_before = 0, c_before = 0;
  T saved[4]{};
  T h = 0, c = 0;

  T dh = 0, dc = 0;  ///< Gradients of h and c.
  T dfrom_x[4]{}, dfrom_h[4]{}, dbias[4]{};
  T dh_before = 0, dc_before = 0;  ///< dh_before lacks the part through U.
};

template <class T>
void cell_forward(RecurrentKind kind, CellUnit<T>& u) {
  auto gate = [&](int at) { return u.from_x[at] + u.from_h[at] + u.bias[at]; };
  switch (kind) {
    case RecurrentKind::lstm:
      for (int at : {0, 1, 3}) u.saved[at] = sigmoid(gate(at));
      u.saved[2] = std::tanh(gate(2));
      u.c = u.saved[1] * u.c_before + u.saved[0] * u.saved[2];
      u.h = u.saved[3] * std::tanh(u.c);
      return;
    case RecurrentKind::gru:
      for (int at : {0, 1}) u.saved[at] = sigmoid(gate(at));
      // Kept because the gradient of r needs it.
      u.saved[3] = u.from_h[2] + u.bias[3];
      u.saved[2] = std::tanh(u.from_x[2] + u.bias[2] + u.saved[0] * u.saved[3]);
      u.h = (1 - u.saved[1]) * u.saved[2] + u.saved[1] * u.h_before;
      return;
    case RecurrentKind::rnn:
      u.h = std::tanh(gate(0));
      return;
  }
}

template <class T>
void lstm_backward(CellUnit<T>& u) {
  auto [i, f, g, o] = u.saved;
  // tanh(c) is recomputed, not saved. `before` are the gradients of the gates before their
  // activation, whose derivatives follow from the saved values: s(1-s) and 1-t^2.
  T tanh_c = std::tanh(u.c), dc = u.dc + u.dh * o * (1 - tanh_c * tanh_c);
  T before[4] = {dc * g * i * (1 - i), dc * u.c_before * f * (1 - f), dc * i * (1 - g * g),
                 u.dh * tanh_c * o * (1 - o)};
  for (int at = 0; at < 4; ++at) u.dfrom_x[at] = u.dfrom_h[at] = u.dbias[at] = before[at];
  u.dc_before = dc * f;
}

template <class T>
void gru_backward(CellUnit<T>& u) {
  auto [r, z, n, m] = u.saved;
  T dn = u.dh * (1 - z) * (1 - n * n), dz = u.dh * (u.h_before - n) * z * (1 - z),
    dr = dn * m * r * (1 - r);
  // For n, the part of the hidden state is multiplied by r, so its gradient differs from that of
  // the part of x.
  T before_x[3] = {dr, dz, dn}, before_h[3] = {dr, dz, dn * r};
  for (int at = 0; at < 3; ++at)
    u.dfrom_x[at] = u.dbias[at] = before_x[at], u.dfrom_h[at] = before_h[at];
  u.dbias[3] = before_h[2];
  u.dh_before = u.dh * z;
}

template <class T>
void cell_backward(RecurrentKind kind, CellUnit<T>& u) {
  switch (kind) {
    case RecurrentKind::lstm:
      return lstm_backward(u);
    case RecurrentKind::gru:
      return gru_backward(u);
    case RecurrentKind::rnn:
      u.dfrom_x[0] = u.dfrom_h[0] = u.dbias[0] = u.dh * (1 - u.h * u.h);
      return;
  }
}

}  // namespace troika
