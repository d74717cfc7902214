// Samples of a training set that are held out for validation.
#pragma once

#include <memory>
#include <string_view>

#include "data/dataset.h"

namespace troika::data {

/// True if the text is "10%" or "[begin:end]": a part of a training set, not the name of a set.
bool is_part(std::string_view text);

/// Two views of one set: as training sees it, augmented, and as it is. Both have the same samples.
struct TrainingViews {
  std::unique_ptr<Dataset> augmented;
  std::unique_ptr<Dataset> plain;
};

struct HeldOut {
  std::unique_ptr<Dataset> train;     ///< The augmented samples that are not held out.
  std::unique_ptr<Dataset> held_out;  ///< The others, as they are.
};

/// A percentage takes samples by a fixed permutation, the same for every seed of a run, so that
/// sorted files give a fair part; of a running text it takes the end, since neighbouring samples
/// continue each other. Precondition: is_part(part). Throws Error(usage) if the part is malformed,
/// or leaves no sample on one of the sides.
HeldOut hold_out(std::string_view part, TrainingViews views);

}  // namespace troika::data
