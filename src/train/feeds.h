// Inputs that no data set holds: constant columns and noise.
#pragma once

#include <span>

#include "ops/step_scalars.h"
#include "tensor/tensor_spec.h"
#include "zoo/model.h"

namespace troika {

/// Fills a whole batch of the input; the same on any number of devices (law 2).
void fill_feed(const zoo::Feed& feed, const TensorSpec& spec, StepKey key,
               std::span<std::byte> bytes);

}  // namespace troika
