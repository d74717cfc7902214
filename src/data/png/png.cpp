// By libpng's simplified interface, which turns palettes, 16 bits and interlacing into plain bytes:
// http://www.libpng.org/pub/png/libpng-manual.txt, section V.
#include "data/png/png.h"

#include <fmt/format.h>
#include <png.h>

#include <utility>

namespace troika::data {
namespace {

/// The library's state, freed in all cases.
struct PngImage : png_image {
  PngImage() : png_image{} {}
  PngImage(const PngImage&) = delete;
  PngImage& operator=(const PngImage&) = delete;
  ~PngImage() { png_image_free(this); }
};

/// An open PNG file whose header has been read.
class PngReader {
 public:
  explicit PngReader(const FileBytes& file) : file_(file) {
    image_.version = PNG_IMAGE_VERSION;
    check_status(png_image_begin_read_from_memory(&image_, file.bytes().data(), file.size()));
    // Sixteen bits without a stated gamma are the finer form of eight, as all editors write them.
    // Set here, because the call above clears all flags.
    image_.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
    check_pixel_count(file.path(), size());
  }

  PictureSize size() const { return {image_.width, image_.height}; }
  bool has_alpha() const { return (image_.format & PNG_FORMAT_FLAG_ALPHA) != 0; }

  /// [height,width,3], with alpha [height,width,4].
  std::vector<std::uint8_t> read_colours() {
    image_.format = has_alpha() ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
    std::vector<std::uint8_t> bytes(PNG_IMAGE_SIZE(image_));
    check_status(png_image_finish_read(&image_, nullptr, bytes.data(), 0, nullptr));
    return bytes;
  }

 private:
  void check_status(int is_good) const {
    if (is_good != 0) return;
    throw image_error(file_.path(),
                      fmt::format("the PNG file is damaged or cut short ({}); fetch or save it "
                                  "again, or remove it",
                                  image_.message));
  }

  const FileBytes& file_;
  PngImage image_;
};

}  // namespace

bool built_with_png() { return true; }

PictureSize png_size(const FileBytes& file) { return PngReader(file).size(); }

Picture decode_png(const FileBytes& file, const DecodeOptions& options) {
  PngReader reader(file);
  bool has_alpha = reader.has_alpha();
  std::vector<std::uint8_t> colours = reader.read_colours();
  if (!has_alpha && options.channels == 3)
    return {.size = reader.size(), .channels = 3, .bytes = std::move(colours)};
  Picture picture = make_picture(reader.size(), options.channels);
  std::size_t step = has_alpha ? 4 : 3, count = colours.size() / step;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t* from = &colours[i * step];
    int alpha = has_alpha ? from[3] : 255;
    auto covered = [&](std::size_t c) { return (from[c] * alpha + 127) / 255; };
    if (options.channels == 1)
      picture.bytes[i] = luminance(covered(0), covered(1), covered(2));
    else
      for (std::size_t c = 0; c < 3; ++c)
        picture.bytes[3 * i + c] = static_cast<std::uint8_t>(covered(c));
  }
  return picture;
}

}  // namespace troika::data
