// NumPy's array files (.npy, versions 1 to 3): https://numpy.org/neps/nep-0001-npy-format.html
#pragma once

#include <memory>
#include <string>

#include "data/array_file.h"
#include "data/dataset.h"
#include "data/image_source.h"
#include "data/uri.h"

namespace troika::data {

/// An array of little-endian f32, f64, i32, i64 or u8 in C order. Throws Error(file) for any other
/// file.
ArrayFile read_npy(const std::string& path);

/// The header of an array in C order, version 1: a multiple of 64, as NumPy writes them.
std::string npy_header(Element element, const Shape& shape);

/// npy:images.npy,labels.npy, for images [N,H,W,C] with ?channels=last; the first file alone if
/// options.unlabelled. Throws Error(usage) when the path is not two names.
std::unique_ptr<ImageSource> open_npy(const Uri& uri, const OpenOptions& options);

}  // namespace troika::data
