// A data set of two arrays: images [N,H,W], [N,C,H,W] or feature vectors [N,F], and labels [N].
#pragma once

#include <memory>

#include "data/array_file.h"
#include "data/image_source.h"

namespace troika::data {

/// Precondition: check_size passed for both. Throws Error(file) when the shapes do not belong
/// together or a label is no class number.
std::unique_ptr<ImageSource> pair_arrays(ArrayFile images, ArrayFile labels);

}  // namespace troika::data
