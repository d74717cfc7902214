// Shared by losses of one tensor against floating targets: the loss of a sample is the mean over
// its elements, and the outputs are the sum of w * loss and the sum of w. Gradients are those of
// the sum, not of the mean (law 2); the update applies 1/sum of w.
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

/// Inputs: x [n, ..], target of x's shape or [n] (one for all elements of a sample), weight [n].
/// Outputs: loss_sum and weight_sum, f64 [1]. The only axis is n; the target gets no gradient.
Signature sample_loss_signature(std::string_view op, std::span<const TensorSpec> inputs,
                                std::int64_t flops_per_element);

}  // namespace troika
