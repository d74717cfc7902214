// Predicts masked tokens with a bidirectional model.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "data/dataset.h"
#include "setup/live_model.h"

namespace troika {

struct MaskedToken {
  std::int64_t index = 0;      ///< Index of the sample in its data set.
  std::int64_t position = 0;   ///< Position in the sample.
  std::int32_t predicted = 0;  ///< The most probable token.
  double probability = 0;
  std::int32_t target = 0;
};

/// Calls `visit` for every masked token of the data set, in order. Preconditions: the data is
/// masked, and the program of add_prediction has this batch size.
void predict_masked(LiveModel& live, const data::Dataset& dataset, std::int64_t batch,
                    const std::function<void(const MaskedToken&)>& visit);

/// Returns the tokens with the most probable token in place of each `mask`. Preconditions: the
/// program has batch 1 and an input "mask", which hides the padding after a short text; there are
/// at most as many tokens as its context.
std::vector<std::int32_t> fill_masks(LiveModel& live, std::vector<std::int32_t> tokens,
                                     std::int32_t mask);

}  // namespace troika
