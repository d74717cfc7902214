// One layer and one direction of an LSTM, GRU or tanh RNN over x [n, t, i], with gates and formulas
// as in PyTorch:
//
//   lstm  i, f, o = sigmoid(W x + U h + b), g = tanh(W x + U h + b)
//         c = f * c + i * g, h = o * tanh(c)
//   gru   r, z = sigmoid(W x + U h + b), n = tanh(W x + b_n + r * (U h + b_m))
//         h = (1 - z) * n + z * h
//   rnn   h = tanh(W x + U h + b)
//
// Hochreiter and Schmidhuber 1997, doi:10.1162/neco.1997.9.8.1735; Cho et al. 2014,
// arXiv:1406.1078.
// W x is the input projection. A layer can be cut over time: its chunks share the weights and hand
// h and c on. A chunk may read the input projection (GateProjection) in place of x, and if it has
// one step, it can be split over hidden units.
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

enum class RecurrentKind { lstm, gru, rnn };
std::span<const std::string_view> enum_names(RecurrentKind);

struct Recurrent {
  static constexpr std::string_view kName = "recurrent";
  RecurrentKind kind = RecurrentKind::lstm;
  std::int64_t hidden = 0;
  /// Runs from the last valid step of a sample to its first; y keeps the order of x.
  bool reverse = false;
  bool has_state = false;  ///< Inputs h0 and, for lstm, c0; otherwise the state starts at zero.
  /// An input with the number of valid steps per sample; later steps give zeros and keep the state.
  bool has_lengths = false;
  /// Input 0 is the input projection p [n, t, G, h], and there is no w_ih.
  bool projected = false;
  /// For a chunk: the steps of the sequence before its first one, and those of the whole sequence,
  /// 0 if it ends with this operator. Sample n has clamp(lengths[n] - begin, 0, t) valid steps
  /// here.
  std::int64_t begin = 0, sequence = 0;
  /// Hidden units that a tile computes, all if 0. Its position says which.
  std::int64_t units = 0;

  static void fields(auto& self, auto&& visit) {
    visit("kind", self.kind);
    visit("hidden", self.hidden);
    visit("reverse", self.reverse);
    visit("has_state", self.has_state);
    visit("has_lengths", self.has_lengths);
    visit("projected", self.projected);
    visit("begin", self.begin);
    visit("sequence", self.sequence);
    visit("units", self.units);
  }
  bool operator==(const Recurrent&) const = default;
};

/// Gates, the first dimension of the weights: lstm i,f,g,o; gru r,z,n; rnn one.
std::int64_t gates_of(RecurrentKind kind);
/// Blocks in the bias: as in the weights, but gru has r, z, n of the input and n of the hidden
/// state.
std::int64_t biases_of(RecurrentKind kind);
/// Blocks that forward saves per step: the activated gates, and for gru U h + b_m. None for rnn,
/// whose backward needs only y.
std::int64_t saved_of(RecurrentKind kind);
/// Hidden units that the operator or tile computes.
std::int64_t units_of(const Recurrent& op);

/// Inputs: x [n, t, i] or p [n, t, G, h], [h0 [n, h]], [c0 [n, h]], [lengths i32 [n]]. Weights:
/// [w_ih [G, h, i]], w_hh [G, h, h], bias [B, h]. Outputs: y [n, t, h], h_last [n, h], for lstm
/// c_last [n, h]. The axes are n and, for one projected step, u over the hidden units: everything
/// is along u but h0 and the last dimension of w_hh, which the product with U reads whole.
Signature signature(const Recurrent& op, std::span<const TensorSpec> inputs);
Recurrent localize(const Recurrent& op, const Signature& signature, const Region& tile);
/// `begin`, then the first hidden unit of the tile. Neither changes the work, so all chunks of a
/// length and all tiles of as many units share one kernel.
std::vector<std::int64_t> tile_position(const Recurrent& op, const Signature& signature,
                                        const Region& tile);

/// The index of each slot of the signature; -1 if the operator does not have it. x is p of a
/// projected one.
struct RecurrentSlots {
  explicit RecurrentSlots(const Recurrent& op);
  int x = 0, h0, c0, lengths, w_ih, w_hh, bias, y, h_last, c_last, gates, cells;
};

}  // namespace troika
