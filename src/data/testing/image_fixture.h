// For tests: image files, made by the libraries that read them.
#pragma once

#include <string>

#include "data/jpeg/jpeg.h"
#include "data/picture.h"
#include "data/png/png.h"

namespace troika::data {

/// A picture of one colour; grey where only the first is given.
Picture plain_picture(PictureSize size, int red, int green = -1, int blue = -1);
/// Red grows to the right, green downwards, blue is even.
Picture ramp_picture(PictureSize size);

/// The content of a file; empty where the library is missing. A picture of one channel becomes a
/// greyscale file.
std::string jpeg_file(const Picture& picture);
std::string png_file(const Picture& picture);

}  // namespace troika::data
