// The state of a model as plain numbers, and how far two runs from one state came apart (law 2).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/session.h"
#include "zoo/model.h"

namespace troika {

/// Tensors of one kind move alike; what is nothing beside a running variance may be much beside a
/// step of the weights.
enum class StateKind { weight, statistics, optimizer };

struct StateTensor {
  std::string name;
  StateKind kind = StateKind::weight;
  std::vector<double> values;

  bool operator==(const StateTensor&) const = default;
};

/// Everything that the session's devices have of the model's state: parameters in the order of the
/// graph, then the optimizer's.
std::vector<StateTensor> read_tensors(Session& session, const zoo::Model& model);

struct TensorDistance {
  std::string tensor;
  /// ‖a − b‖ / (‖Δb‖ + the largest ‖Δ‖ of the same kind). Tensors whose true gradient is zero (a
  /// bias before batch norm, an attention key bias) move by rounding alone, which the second term
  /// allows.
  double distance = 0;

  bool operator==(const TensorDistance&) const = default;
};

/// Three states: where two runs started, where one ended, and where the other one should have.
struct Ends {
  const std::vector<StateTensor>& start;
  const std::vector<StateTensor>& found;
  const std::vector<StateTensor>& truth;
};

struct Comparison {
  std::optional<TensorDistance> first;  ///< In order, beyond the tolerance.
  TensorDistance largest;
};

/// What another order of sums may do: to numbers in f64,
inline constexpr double kExactTolerance = 1e-9;
/// and in f32, where two runs on one device that differ only in threads are `noise` apart. Two runs
/// happen to be nearer to each other than some.
double float_tolerance(double noise);

/// Of every tensor, in the order of the truth. A number that is not finite is infinitely far away.
std::vector<TensorDistance> distances_between(const Ends& ends);

Comparison compare_movements(const Ends& ends, double tolerance);

/// Changes every weight by a few units in the last place of f32, at random by `nudge`. That is what
/// sums in another order do, so two runs that differ in this alone are equally right.
void nudge_weights(Session& session, const zoo::Model& model, std::uint64_t nudge);

/// The state `end` of a run that began at `from`, as if it had begun at `to`: movements of runs
/// from nudged weights can then be compared.
std::vector<StateTensor> moved_to(std::vector<StateTensor> end,
                                  const std::vector<StateTensor>& from,
                                  const std::vector<StateTensor>& to);

}  // namespace troika
