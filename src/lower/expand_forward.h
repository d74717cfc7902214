// The forward phase of every wanted operator on one micro-batch.
#pragma once

#include "lower/draft.h"

namespace troika {

/// Appends one task per operator in graph order; views make a buffer and no task.
void expand_forward(Draft& draft, std::int64_t part);

/// The buffer of one use of an operator's phase. Written ones are made; gradients of outputs must
/// be given.
BufferId buffer_of(Draft& draft, const Operator& op, const Signature& signature, const Use& use,
                   std::int64_t part);

/// Marks the wanted outputs as held, so the host can read them; sums over micro-batches are added
/// up.
void hold_outputs(Draft& draft);

}  // namespace troika
