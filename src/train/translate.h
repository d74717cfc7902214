// Translates texts with an encoder-decoder model.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "data/dataset.h"
#include "setup/live_model.h"

namespace troika {

struct Translation {
  std::int64_t index = 0;            ///< Index of the sample in its data set.
  std::vector<std::int32_t> tokens;  ///< Without the end mark.
  std::vector<std::int32_t> target;  ///< From the data set, with its begin and end marks.
};

/// Calls `visit` for every sample, in order. Decodes greedily: each word is the most probable one,
/// given those before it. Preconditions: the data is pairs, and the program of add_prediction has
/// this batch size.
void translate(LiveModel& live, const data::Dataset& dataset, std::int64_t batch,
               const std::function<void(const Translation&)>& visit);

}  // namespace troika
