// Simulates a folded graph again and again as a plan changes, and each time only what the change
// reaches. Results are those of simulate_loop, to the nanosecond.
#pragma once

#include "sim/delta_run.h"
#include "sim/simulate.h"

namespace troika {

/// Stays where it is made. Keeps a copy of the graph, and the run of it.
class DeltaSimulation {
 public:
  explicit DeltaSimulation(OnState on_state = {}) : run_(loop_.body(), std::move(on_state)) {}
  DeltaSimulation(const DeltaSimulation&) = delete;
  DeltaSimulation& operator=(const DeltaSimulation&) = delete;

  /// Takes any graph. The less it differs from the one before, the less is simulated. Other classes
  /// make everything differ.
  LoopPeriod simulate(const FoldedGraph& graph);
  /// Takes the last `simulate` back. There must be one since then.
  void undo();

  const LoopPeriod& period() const { return run_.period(); }
  SteadyLoop loop() const;
  /// The tasks that the last `simulate` ran, counted in every pass.
  std::int64_t tasks_run() const { return run_.tasks_run(); }

 private:
  FoldedLoop loop_;
  DeltaRun run_;
};

}  // namespace troika
