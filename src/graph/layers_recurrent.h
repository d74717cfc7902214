// Stacked LSTM, GRU and RNN layers: one operator per layer and direction.
#pragma once

#include "graph/layers.h"

namespace troika::layers {

/// The state of one layer and direction, [n, hidden].
struct RecurrentState {
  TensorId h;
  TensorId c{};  ///< lstm only.
};

struct RecurrentOptions {
  RecurrentKind kind = RecurrentKind::lstm;
  std::int64_t hidden = 0;
  std::int64_t layers = 1;
  bool bidirectional = false;           ///< Concatenates both directions: twice the hidden width.
  double dropout = 0;                   ///< Rate between layers.
  std::optional<TensorId> lengths{};    ///< i32 [n]: valid steps of each sample.
  std::vector<RecurrentState> start{};  ///< By layer, then direction; zeros if empty.
  std::optional<Init> init{};           ///< Initial value of both weights.
};

struct RecurrentResult {
  TensorId y;  ///< Output of the last layer, [n, t, hidden or twice hidden].
  std::vector<RecurrentState> last{};  ///< By layer, then direction.
};

/// x [n,t,i]. Operators NAME.<layer> and NAME.<layer>.reverse, counted from 0, each with the
/// parameters w_ih, w_hh, bias.
RecurrentResult recurrent(GraphBuilder& b, const std::string& name, TensorId x,
                          const RecurrentOptions& options);

}  // namespace troika::layers
