// Reads the state of a model as plain numbers and measures how far two runs from the same state
// have moved apart (law 2).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/session.h"
#include "zoo/model.h"

namespace troika {

/// Tensors are compared within their kind, since kinds move by different amounts: a difference that
/// is negligible for a running variance may be large for a weight.
enum class StateKind { weight, statistics, optimizer };

struct StateTensor {
  std::string name;
  StateKind kind = StateKind::weight;
  std::vector<double> values;

  bool operator==(const StateTensor&) const = default;
};

/// Reads the part of the model's state that the session's devices store: parameters in the order of
/// the graph, then the optimizer's state.
std::vector<StateTensor> read_tensors(Session& session, const zoo::Model& model);

struct TensorDistance {
  std::string tensor;
  /// ‖a − b‖ / (‖Δb‖ + the largest ‖Δ‖ of the same kind), where Δ is the movement from the start.
  /// Tensors whose true gradient is zero (a bias before batch norm, an attention key bias) move by
  /// rounding alone; the second term keeps their distance small.
  double distance = 0;

  bool operator==(const TensorDistance&) const = default;
};

/// The common start of two runs, the end of the run under test and the end of the reference run.
struct Ends {
  const std::vector<StateTensor>& start;
  const std::vector<StateTensor>& found;
  const std::vector<StateTensor>& truth;
};

struct Comparison {
  std::optional<TensorDistance> first;  ///< The first tensor beyond the tolerance.
  TensorDistance largest;
};

/// Distance that sums in another order may cause in f64.
inline constexpr double kExactTolerance = 1e-9;
/// Returns the same for f32. `noise` is the distance of two runs on one device that differ only in
/// their number of threads. Since one pair may be close by chance, a multiple of it is allowed.
double float_tolerance(double noise);

/// Returns the distance of every tensor, in the order of the truth. A value that is not finite
/// gives an infinite distance.
std::vector<TensorDistance> distances_between(const Ends& ends);

Comparison compare_movements(const Ends& ends, double tolerance);

/// Changes every weight by a few units in the last place of f32, at random with seed `nudge`. Sums
/// in another order cause changes of this size, so runs that differ only in this are equally
/// correct.
void nudge_weights(Session& session, const zoo::Model& model, std::uint64_t nudge);

/// Shifts the end state of a run that started at `from` as if it had started at `to`, so that runs
/// from nudged weights can be compared.
std::vector<StateTensor> moved_to(std::vector<StateTensor> end,
                                  const std::vector<StateTensor>& from,
                                  const std::vector<StateTensor>& to);

}  // namespace troika
