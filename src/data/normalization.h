// Mean and standard deviation per channel, or per feature, and how samples are shifted and scaled
// by them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tensor/region.h"

namespace troika::data {

class ImageSource;

/// One entry per channel of images, or per feature; or a single entry for all of them.
struct Normalization {
  std::vector<float> mean;
  std::vector<float> deviation;

  static Normalization identity() { return {{0.0F}, {1.0F}}; }
  bool operator==(const Normalization&) const = default;
};

/// Throws Error(usage) unless both lists have one entry or one per channel and all deviations are
/// positive and finite.
void check(const Normalization& normalization, std::size_t channels);

/// "auto": measured over a fixed choice of the samples in `range`, evenly spaced: at most 1,000
/// images, or 100,000 rows of features. A channel that does not vary gets deviation 1.
/// The result does not depend on the number of threads.
Normalization measure(const ImageSource& source, Range range, int threads = 1);

/// The same for numbers to predict, over at most 100,000 samples: a mean for each of them and one
/// deviation for all. Precondition: the samples in `range` have numbers to predict.
Normalization measure_targets(const ImageSource& source, Range range);

/// pixels: the channels one after the other. Precondition: check() passed.
void apply(const Normalization& normalization, std::size_t channels, std::span<float> pixels);
/// Turns normalised numbers, one per channel, back into the user's.
void undo(const Normalization& normalization, std::span<double> numbers);

}  // namespace troika::data
