// Fills the inputs of a graph: checks that samples provide them, generates those that no data set
// holds (constants, noise), and finds the rows of a batch that this process needs.
#pragma once

#include <span>

#include "ops/step_scalars.h"
#include "runtime/session.h"
#include "tensor/tensor_spec.h"
#include "zoo/model.h"

namespace troika {

/// Throws Error(usage), naming the model and the input, unless each input of its graphs is a field
/// of the samples with the same shape, "weight", or a feed.
void require_fed(const zoo::Model& model, const zoo::Samples& samples);

/// Fills a whole batch of the input, with the same values on any number of devices (law 2).
void fill_feed(const zoo::Feed& feed, const TensorSpec& spec, StepKey key,
               std::span<std::byte> bytes);

/// Returns the rows of a batch from the first to the last that devices of this process read, over
/// all inputs of the program that have `batch` rows; empty if they read none.
Range sample_rows(const Session& session, const std::string& program, std::int64_t batch);

/// Returns the smallest range that contains both.
Range hull(Range a, Range b);

}  // namespace troika
