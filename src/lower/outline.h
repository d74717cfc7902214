// What a program does before anything is split: the phases of its operators in their order, and the
// values that go from one phase to others.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/indexed_graph.h"
#include "lower/lower.h"
#include "taskgraph/task_graph.h"

namespace troika {

/// What a value is a value of.
enum class ValueKind : std::uint8_t {
  tensor,
  gradient,            ///< Of a tensor.
  kept,                ///< A saved slot or a statistic of an operator.
  parameter,           ///< As it is stored.
  parameter_gradient,  ///< Or the batch statistics that a running statistic follows.
  unused,              ///< Written by a phase that is run for something else.
  norms,               ///< Of a parameter: square sums that its update rule needs of the whole.
};

/// One use of a value by a job.
struct ValueUse {
  std::int32_t job = -1;
  std::int32_t use = -1;  ///< Of the job's phase.

  bool operator==(const ValueUse&) const = default;
};

/// A slot of an operator, as the graph has it.
struct OperatorSlot {
  std::int32_t op = -1;
  std::int32_t slot = -1;

  bool operator==(const OperatorSlot&) const = default;
};

struct OutlinedValue {
  ValueKind kind = ValueKind::tensor;
  std::int32_t of = -1;             ///< Tensor, parameter or operator, by its place in the graph.
  std::int32_t slot = -1;           ///< kept, unused: of the operator.
  std::vector<ValueUse> uses{};     ///< By all jobs, in the order of the program.
  std::vector<ValueUse> writers{};  ///< Those of jobs that run; none: an input of the graph.
  std::vector<ValueUse> readers{};  ///< The same.
  /// Of a parameter: the slots that it fills, whether a phase reads them or not.
  std::vector<OperatorSlot> slots{};
};

/// A phase of an operator.
struct Job {
  std::int32_t op = -1;
  const PhaseSpec* phase = nullptr;
  bool backward = false;
  bool staged = false;                 ///< One of the operator's staged phases.
  std::int32_t order = 0;              ///< Among the phases of its operator.
  std::vector<std::int32_t> values{};  ///< By use; -1: scalars or control words.
};

/// Of one micro-batch; all have the same jobs and values. An operator that has staged phases has
/// jobs for both its forms, of which a strategy runs one, so that the numbers of jobs and values do
/// not depend on the strategy. A value that only jobs of the other form use is empty: nobody writes
/// or reads it.
struct Outline {
  std::vector<Job> jobs;  ///< In the order of a step.
  std::vector<OutlinedValue> values;
  std::vector<std::int32_t> tensors;    ///< Value of each tensor; -1: nobody needs it.
  std::vector<std::int32_t> gradients;  ///< Of each tensor's gradient.
  std::vector<std::int32_t> parameters, parameter_gradients;
  std::vector<bool> updated;        ///< By parameter: it has a gradient, and the optimizer a rule.
  std::vector<std::int32_t> norms;  ///< By parameter; -1: its update needs none under any strategy.
  std::vector<std::vector<std::int32_t>> jobs_of;  ///< By operator.
  std::vector<bool> staged;                        ///< By operator: it runs its staged phases.

  bool runs(const Job& job) const { return job.staged == staged[as_index(job.op)]; }
};

struct OutlineRequest {
  const IndexedGraph& index;
  const OptimizerSpec* optimizer = nullptr;  ///< Null: a program that does not train.
  const std::vector<std::string>& outputs;   ///< Held ones.
};

/// Operators that nothing held depends on are left out, and so are gradients that nobody needs (of
/// data, of frozen parameters) where a phase is for them alone. No operator is staged.
Outline make_outline(const OutlineRequest& request);

/// Lets an operator run its staged phases, or its plain ones.
void set_staged(Outline& outline, std::size_t op, bool staged);

}  // namespace troika
