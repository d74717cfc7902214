// The forward phase of every wanted operator on one micro-batch.
#pragma once

#include "lower/draft.h"

namespace troika {

/// Appends the tasks of the operators in graph order; views make buffers and no task.
void expand_forward(Draft& draft, std::int64_t part);

/// The phases of the operator as it is split: the staged ones where a tile cuts what a plain phase
/// needs whole.
const std::vector<PhaseSpec>& phases_of(const Draft& draft, const Operator& op,
                                        const Signature& signature);

/// The value of a use that is no gradient, or of the gradient of a parameter.
Value& value_of(Draft& draft, const Operator& op, const Signature& signature, const Use& use,
                std::int64_t part);

/// Marks the wanted outputs as held, so the host can read them: sums over the batch added up, on
/// every device; others put together on the first device.
void hold_outputs(Draft& draft);

/// Adds up what the micro-batches so far contribute to a parameter's gradient, or to its
/// statistics.
void merge_gradient(Draft& draft, ParameterId parameter);

}  // namespace troika
