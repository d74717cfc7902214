// A data set of two arrays: images [N,H,W], [N,C,H,W], [N,H,W,C] or feature vectors [N,F], and
// labels [N].
#pragma once

#include <memory>

#include "data/array_file.h"
#include "data/image_source.h"

namespace troika::data {

/// Where an array of rank 4 has its channels; unstated: in front, unless it looks otherwise.
enum class Channels { unstated, first, last };

/// Precondition: check_size passed for both. Throws Error(file) when the shapes do not belong
/// together, a label is no class number, or unstated channels seem to be last.
std::unique_ptr<ImageSource> pair_arrays(ArrayFile images, ArrayFile labels,
                                         Channels channels = Channels::unstated);

}  // namespace troika::data
