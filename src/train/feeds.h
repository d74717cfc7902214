// What fills the inputs of a graph: the fields of samples; and for inputs that no data set holds,
// constant columns and noise.
#pragma once

#include <span>

#include "ops/step_scalars.h"
#include "tensor/tensor_spec.h"
#include "zoo/model.h"

namespace troika {

/// Throws Error(usage), naming the model and the input, unless each input of its graphs is a field
/// of the samples in that very shape, "weight", or a feed.
void require_fed(const zoo::Model& model, const zoo::Samples& samples);

/// Fills a whole batch of the input; the same on any number of devices (law 2).
void fill_feed(const zoo::Feed& feed, const TensorSpec& spec, StepKey key,
               std::span<std::byte> bytes);

}  // namespace troika
