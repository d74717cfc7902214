// Stands in for the JPEG decoder when libturbojpeg was not found.
#include "data/jpeg/jpeg.h"

namespace troika::data {
namespace {

[[noreturn]] void refuse_jpeg(const FileBytes& file) {
  throw image_error(file.path(),
                    "this build of Troika cannot read JPEG files, because libturbojpeg was not "
                    "found; install it (Debian and Ubuntu: libturbojpeg0-dev) and configure again");
}

}  // namespace

bool built_with_jpeg() { return false; }

PictureSize jpeg_size(const FileBytes& file) { refuse_jpeg(file); }

Picture decode_jpeg(const FileBytes& file, const DecodeOptions&) { refuse_jpeg(file); }

}  // namespace troika::data
