// What all update rules share: the parameter, its gradient, the step's scalars and control word,
// and n states of the parameter's shape.
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

/// For rules that need norms over the whole parameter: adds the slot square_sums, f64 [2], last,
/// and the stages for a split parameter. statistics_1 reads what update touches and writes the
/// square sums; apply reads them and updates.
Signature normed_update_signature(Signature update);

}  // namespace troika
