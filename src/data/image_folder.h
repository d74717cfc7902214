// Images as JPEG and PNG files, in a folder per class.
#pragma once

#include <memory>

#include "data/dataset.h"
#include "data/image_source.h"
#include "data/uri.h"

namespace troika::data {

/// images:DIR?size=HEIGHTxWIDTH&channels=1. Each image is resized so that its shorter side fits,
/// and its centre is used; without a size all must have one. Greyscale, palette and transparent
/// images get the channels asked for (default: 3). Nothing is kept but the names of the files: an
/// image is decoded whenever it is read. With options.like, size, channels and classes are that
/// set's. Throws Error(file) for a folder that is not of this form, or a class that options.like
/// does not know.
std::unique_ptr<ImageSource> open_image_folder(const Uri& uri, const OpenOptions& options);

}  // namespace troika::data
