// A data set of two arrays: images [N,H,W], [N,C,H,W], [N,H,W,C] or feature vectors [N,F], and
// classes [N], or numbers to predict [N] or [N,K].
#pragma once

#include <memory>
#include <optional>

#include "data/array_file.h"
#include "data/image_source.h"

namespace troika::data {

/// Position of the channels of an array of rank 4; unstated: first, unless the shape suggests last.
enum class Channels { unstated, first, last };

/// Floating labels are numbers to predict; without labels there are no targets. Precondition:
/// check_size passed for both. Throws Error(file) when the shapes do not belong together, a label
/// is not a class number or not finite, or unstated channels seem to be last.
std::unique_ptr<ImageSource> pair_arrays(ArrayFile images, std::optional<ArrayFile> labels,
                                         Channels channels = Channels::unstated);

}  // namespace troika::data
