// Backward phases on one micro-batch, from the loss to the parameters, with sums where a tensor was
// read more than once.
#pragma once

#include "lower/draft.h"

namespace troika {

/// Precondition: expand_forward of the same part. Leaves each parameter's summed gradient in
/// draft.parameter_gradients. Gradients that nobody needs (of data, of frozen parameters) are not
/// computed where a phase is for them alone.
void expand_backward(Draft& draft, std::int64_t part);

/// After the last forward: the loss over all micro-batches, and the guard where it looks at the
/// loss alone.
void close_loss(Draft& draft);

}  // namespace troika
