#include "data/png/png.h"

#include <gmock/gmock.h>
#include <png.h>
#include <zlib.h>

#include "data/testing/file_fixture.h"
#include "data/testing/image_fixture.h"

namespace troika::data {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// `bytes` in one of libpng's formats, `palette` where the format has one.
std::string compress(PictureSize size, std::uint32_t format, const void* bytes,
                     const void* palette = nullptr, std::uint32_t colours = 0) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<std::uint32_t>(size.width);
  image.height = static_cast<std::uint32_t>(size.height);
  image.format = format;
  image.colormap_entries = colours;
  png_alloc_size_t length = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string file(length, '\0');
  EXPECT_TRUE(png_image_write_to_memory(&image, file.data(), &length, 0, bytes, 0, palette))
      << image.message;
  file.resize(length);
  return file;
}

FileBytes as_png(const std::string& content) { return FileBytes::of_text("a.png", content); }

std::vector<std::uint8_t> pixels(const std::string& content, std::int64_t channels) {
  return decode_png(as_png(content), {.channels = channels}).bytes;
}

}  // namespace

std::string png_file(const Picture& picture) {
  return compress(picture.size, picture.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB,
                  picture.bytes.data());
}

namespace {

TEST(Png, IsDecodedExactly) {
  Picture ramp = ramp_picture({40, 30});
  FileBytes file = as_png(png_file(ramp));
  EXPECT_EQ(png_size(file), (PictureSize{40, 30}));
  Picture decoded = decode_png(file, {});
  EXPECT_EQ(decoded.size, ramp.size);
  EXPECT_EQ(decoded.bytes, ramp.bytes);
}

TEST(Png, GetsTheChannelsAskedFor) {
  EXPECT_THAT(pixels(png_file(plain_picture({1, 1}, 90)), 3), ElementsAre(90, 90, 90));
  EXPECT_THAT(pixels(png_file(plain_picture({1, 1}, 90)), 1), ElementsAre(90));
  EXPECT_THAT(pixels(png_file(plain_picture({1, 1}, 200, 10, 30)), 1),
              ElementsAre(luminance(200, 10, 30)));
}

TEST(Png, OfAPaletteHasItsColours) {
  const std::uint8_t palette[] = {1, 2, 3, 40, 50, 60};
  const std::uint8_t indices[] = {1, 0};
  EXPECT_THAT(pixels(compress({2, 1}, PNG_FORMAT_RGB_COLORMAP, indices, palette, 2), 3),
              ElementsAre(40, 50, 60, 1, 2, 3));
}

TEST(Png, LiesOnBlackWhereItIsTransparent) {
  const std::uint8_t colours[] = {200, 100, 50, 255, 200, 100, 50, 0, 200, 100, 50, 128};
  EXPECT_THAT(pixels(compress({3, 1}, PNG_FORMAT_RGBA, colours), 3),
              ElementsAre(200, 100, 50, 0, 0, 0, 100, 50, 25));
  const std::uint8_t greys[] = {200, 255, 200, 0};
  EXPECT_THAT(pixels(compress({2, 1}, PNG_FORMAT_GA, greys), 1), ElementsAre(200, 0));
}

TEST(Png, OfSixteenBitsIsRead) {
  const std::uint16_t linear[] = {65535, 0};
  EXPECT_THAT(pixels(compress({2, 1}, PNG_FORMAT_LINEAR_Y, linear), 1), ElementsAre(255, 0));
}

/// A part of a PNG file: its length, name, content and checksum.
std::string chunk(const std::string& name, const std::string& content) {
  auto number = [](std::size_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
    return bytes;
  };
  const std::string named = name + content;
  return number(content.size()) + named +
         number(crc32(0, reinterpret_cast<const Bytef*>(named.data()),
                      static_cast<uInt>(named.size())));
}

TEST(Png, OfSixteenBitsWithoutAGammaIsTheFinerFormOfEight) {
  const std::string row("\0\x80\0", 3);  // no filter, then 0x8000
  std::string packed(64, '\0');
  uLongf size = packed.size();
  ASSERT_EQ(::compress(reinterpret_cast<Bytef*>(packed.data()), &size,
                       reinterpret_cast<const Bytef*>(row.data()), row.size()),
            Z_OK);
  packed.resize(size);
  const std::string header("\0\0\0\x01\0\0\0\x01\x10\0\0\0\0", 13);  // 1 x 1, 16 bits of grey
  const std::string file =
      "\x89PNG\r\n\x1a\n" + chunk("IHDR", header) + chunk("IDAT", packed) + chunk("IEND", "");
  EXPECT_THAT(pixels(file, 1), ElementsAre(128));
}

TEST(Png, ThatIsCutShortOrDamagedIsRefused) {
  std::string whole = png_file(ramp_picture({64, 64}));
  std::string changed = whole;
  changed[whole.size() / 2] = static_cast<char>(~changed[whole.size() / 2]);
  for (const std::string& bad : {whole.substr(0, 20), whole.substr(0, whole.size() / 2), changed})
    EXPECT_THAT(error_of([&] { decode_png(as_png(bad), {}); }),
                AllOf(HasSubstr("'a.png': the PNG file is damaged or cut short ("),
                      HasSubstr("fetch or save it again")));
}

TEST(Png, OfTooManyPixelsIsRefusedBeforeItIsDecoded) {
  std::string file = png_file(plain_picture({8, 8}, 0));
  // Width and height stand behind the signature, the length and the name of the first part.
  file.replace(16, 8, std::string("\0\0\xFF\0\0\0\xFF\0", 8));
  std::uint32_t sum = static_cast<std::uint32_t>(
      crc32(0, reinterpret_cast<const unsigned char*>(file.data()) + 12, 17));
  for (std::size_t i = 0; i < 4; ++i) file[29 + i] = static_cast<char>(sum >> (24 - 8 * i));
  for (auto read : {+[](const FileBytes& bytes) { png_size(bytes); },
                    +[](const FileBytes& bytes) { decode_png(bytes, {}); }})
    EXPECT_THAT(error_of([&] { read(as_png(file)); }),
                AllOf(HasSubstr("65280 x 65280 pixels"), HasSubstr("limit")));
}

}  // namespace
}  // namespace troika::data
