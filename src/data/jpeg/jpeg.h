// JPEG files.
#pragma once

#include "data/file_bytes.h"
#include "data/picture.h"

namespace troika::data {

bool built_with_jpeg();

/// Both throw Error(file) when the file is damaged or cut short, or when this build cannot read
/// JPEG. From any thread.
PictureSize jpeg_size(const FileBytes& file);
Picture decode_jpeg(const FileBytes& file, const DecodeOptions& options);

}  // namespace troika::data
