// Stands in for the PNG decoder when libpng was not found.
#include "data/png/png.h"

namespace troika::data {
namespace {

[[noreturn]] void refuse_png(const FileBytes& file) {
  throw image_error(file.path(),
                    "this build of Troika cannot read PNG files, because libpng was not found; "
                    "install it (Debian and Ubuntu: libpng-dev) and configure again");
}

}  // namespace

bool built_with_png() { return false; }

PictureSize png_size(const FileBytes& file) { refuse_png(file); }

Picture decode_png(const FileBytes& file, const DecodeOptions&) { refuse_png(file); }

}  // namespace troika::data
