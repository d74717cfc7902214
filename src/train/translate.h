// Texts turned into others by an encoder and a decoder.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "data/dataset.h"
#include "setup/live_model.h"

namespace troika {

struct Translation {
  std::int64_t index = 0;            ///< Of the sample in its data set.
  std::vector<std::int32_t> tokens;  ///< Up to the end mark, which is not among them.
  std::vector<std::int32_t> target;  ///< What the data says, with its marks.
};

/// Every sample once, in order: at each place the most probable word, given those chosen before it.
/// Preconditions: the data is pairs, and the program of add_prediction has this batch.
void translate(LiveModel& live, const data::Dataset& dataset, std::int64_t batch,
               const std::function<void(const Translation&)>& visit);

}  // namespace troika
