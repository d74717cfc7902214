// By TurboJPEG: https://libjpeg-turbo.org/Documentation/Documentation
#include "data/jpeg/jpeg.h"

#include <fmt/format.h>
#include <turbojpeg.h>

#include <memory>
#include <string_view>

namespace troika::data {
namespace {

struct DestroyDecoder {
  void operator()(void* decoder) const { tjDestroy(decoder); }
};
using Decoder = std::unique_ptr<void, DestroyDecoder>;

/// The limit on scans keeps a small progressive file from taking minutes.
constexpr int kFlags = TJFLAG_ACCURATEDCT | TJFLAG_LIMITSCANS;

struct Header {
  int width = 0, height = 0, colours = 0;
  bool is_cmyk() const { return colours == TJCS_CMYK || colours == TJCS_YCCK; }
};

const unsigned char* begin_of(const FileBytes& file) {
  return reinterpret_cast<const unsigned char*>(file.bytes().data());
}

/// The library warns of what many cameras and editors write and what changes no pixel.
bool is_harmless(std::string_view warning) {
  for (std::string_view known : {"extraneous bytes", "JFIF", "Adobe", "SOS parameters"})
    if (warning.find(known) != std::string_view::npos) return true;
  return false;
}

[[noreturn]] void refuse_damaged(const FileBytes& file, const std::string& problem) {
  bool is_short = problem.find("remature end") != std::string::npos;
  throw image_error(file.path(),
                    fmt::format("the JPEG file is {} ({}); fetch or save it again, or remove it",
                                is_short ? "cut short" : "damaged", problem));
}

/// Turns the library's status into an error.
void check_status(int status, const Decoder& decoder, const FileBytes& file) {
  if (status == 0) return;
  std::string problem = tjGetErrorStr2(decoder.get());
  bool only_warns = tjGetErrorCode(decoder.get()) == TJERR_WARNING;
  if (!only_warns || !is_harmless(problem)) refuse_damaged(file, problem);
}

Decoder make_decoder() {
  Decoder decoder(tjInitDecompress());
  if (!decoder) throw std::bad_alloc();
  return decoder;
}

Header read_header(const Decoder& decoder, const FileBytes& file) {
  Header header;
  int subsampling = 0;
  check_status(
      tjDecompressHeader3(decoder.get(), begin_of(file), static_cast<unsigned long>(file.size()),
                          &header.width, &header.height, &subsampling, &header.colours),
      decoder, file);
  // The library finds nothing wrong with a file that ends before its header does.
  if (header.width == 0 || header.height == 0) refuse_damaged(file, "no header");
  check_pixel_count(file.path(), {header.width, header.height});
  return header;
}

/// The smallest size of at least `least` that the library can decode at directly. Only those of
/// its factors that its vector code computes.
PictureSize decoded_size(const Header& header, PictureSize least) {
  PictureSize size{header.width, header.height};
  for (int divisor : {2, 4, 8}) {
    tjscalingfactor factor{1, divisor};
    PictureSize smaller{TJSCALED(header.width, factor), TJSCALED(header.height, factor)};
    if (smaller.width >= least.width && smaller.height >= least.height) size = smaller;
  }
  return size;
}

/// Adobe's programs, which write nearly all of these, store inverted values.
void convert_cmyk(const std::vector<std::uint8_t>& inks, Picture& picture) {
  auto channels = static_cast<std::size_t>(picture.channels);
  for (std::size_t i = 0; i < inks.size() / 4; ++i) {
    auto mixed = [&](std::size_t ink) { return inks[4 * i + ink] * inks[4 * i + 3] / 255; };
    std::uint8_t* pixel = &picture.bytes[i * channels];
    if (channels == 1)
      pixel[0] = luminance(mixed(0), mixed(1), mixed(2));
    else
      for (std::size_t c = 0; c < 3; ++c) pixel[c] = static_cast<std::uint8_t>(mixed(c));
  }
}

}  // namespace

bool built_with_jpeg() { return true; }

PictureSize jpeg_size(const FileBytes& file) {
  Header header = read_header(make_decoder(), file);
  return {header.width, header.height};
}

Picture decode_jpeg(const FileBytes& file, const DecodeOptions& options) {
  Decoder decoder = make_decoder();
  Header header = read_header(decoder, file);
  Picture picture = make_picture(decoded_size(header, options.least), options.channels);
  std::vector<std::uint8_t> inks;
  if (header.is_cmyk()) inks.resize(picture.bytes.size() / options.channels * 4);
  int format = header.is_cmyk() ? TJPF_CMYK : options.channels == 1 ? TJPF_GRAY : TJPF_RGB;
  check_status(tjDecompress2(decoder.get(), begin_of(file), static_cast<unsigned long>(file.size()),
                             header.is_cmyk() ? inks.data() : picture.bytes.data(),
                             static_cast<int>(picture.size.width), 0,
                             static_cast<int>(picture.size.height), format, kFlags),
               decoder, file);
  if (header.is_cmyk()) convert_cmyk(inks, picture);
  return picture;
}

}  // namespace troika::data
