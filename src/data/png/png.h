// PNG files.
#pragma once

#include "data/file_bytes.h"
#include "data/picture.h"

namespace troika::data {

bool built_with_png();

/// Both throw Error(file) when the file is damaged or cut short, or when this build cannot read
/// PNG. Transparent pixels lie on black. From any thread.
PictureSize png_size(const FileBytes& file);
Picture decode_png(const FileBytes& file, const DecodeOptions& options);

}  // namespace troika::data
