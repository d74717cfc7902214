// Shared by all update rules: the parameter, its gradient, the scalars and control word of the
// step, and n states of the parameter's shape.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ops/signature.h"

namespace troika {

/// Slots: 0 weight (value updated, gradient read), 1 scalars, 2 control, then the states. One
/// phase, `update`, which uses [weight update, gradient read, scalars read, control read, states
/// update…]. Every dimension is an axis.
Signature update_signature(const TensorSpec& parameter, std::span<const std::string> states,
                           std::int64_t flops_per_element);

/// For rules that need norms of the whole parameter: appends the slot square_sums, f64 [2], and the
/// staged phases of a split parameter. statistics_1 reads the tensors of update and writes the
/// square sums; apply reads the sums and updates.
Signature normed_update_signature(Signature update);

}  // namespace troika
