// Backward phases on one micro-batch, from the loss to the parameters; where a tensor was read more
// than once its gradient has several terms.
#pragma once

#include "lower/draft.h"

namespace troika {

/// Precondition: expand_forward of the same part. Leaves each parameter's gradient in
/// draft.parameter_gradients. Gradients that nobody needs (of data, of frozen parameters) are not
/// computed where a phase is for them alone.
void expand_backward(Draft& draft, std::int64_t part);

}  // namespace troika
