#include "data/jpeg/jpeg.h"

#include <gmock/gmock.h>
#include <turbojpeg.h>

#include <cmath>

#include "data/testing/file_fixture.h"
#include "data/testing/image_fixture.h"

namespace troika::data {

using testing::HasSubstr;

namespace {

std::string compress(const Picture& picture, int format, int subsampling) {
  tjhandle encoder = tjInitCompress();
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  int status = tjCompress2(encoder, picture.bytes.data(), static_cast<int>(picture.size.width), 0,
                           static_cast<int>(picture.size.height), format, &bytes, &size,
                           subsampling, 95, TJFLAG_ACCURATEDCT);
  EXPECT_EQ(status, 0) << tjGetErrorStr2(encoder);
  std::string file(reinterpret_cast<char*>(bytes), size);
  tjFree(bytes);
  tjDestroy(encoder);
  return file;
}

FileBytes as_jpeg(const std::string& content) { return FileBytes::of_text("a.jpg", content); }

/// The largest difference of two pictures.
int difference(const Picture& a, const Picture& b) {
  EXPECT_EQ(a.size, b.size);
  EXPECT_EQ(a.bytes.size(), b.bytes.size());
  int most = 0;
  for (std::size_t i = 0; i < a.bytes.size(); ++i)
    most = std::max(most, std::abs(a.bytes[i] - b.bytes[i]));
  return most;
}

}  // namespace

std::string jpeg_file(const Picture& picture) {
  bool is_grey = picture.channels == 1;
  return compress(picture, is_grey ? TJPF_GRAY : TJPF_RGB, is_grey ? TJSAMP_GRAY : TJSAMP_444);
}

namespace {

TEST(Jpeg, IsDecodedToTheColoursItWasMadeOf) {
  Picture ramp = ramp_picture({40, 30});
  FileBytes file = as_jpeg(jpeg_file(ramp));
  EXPECT_EQ(jpeg_size(file), (PictureSize{40, 30}));
  EXPECT_LE(difference(decode_jpeg(file, {.least = {40, 30}}), ramp), 8);
}

TEST(Jpeg, GetsTheChannelsAskedFor) {
  FileBytes grey = as_jpeg(jpeg_file(plain_picture({8, 8}, 90)));
  EXPECT_LE(difference(decode_jpeg(grey, {.channels = 3}), plain_picture({1, 1}, 90, 90, 90)), 1);
  FileBytes red = as_jpeg(jpeg_file(plain_picture({8, 8}, 200, 0, 0)));
  EXPECT_NEAR(decode_jpeg(red, {.channels = 1}).bytes[0], luminance(200, 0, 0), 2);
}

TEST(Jpeg, ConvertsTheInksOfPrinters) {
  Picture inks = make_picture({16, 16}, 4);
  for (std::size_t i = 0; i < inks.bytes.size(); i += 4) {
    inks.bytes[i] = 255, inks.bytes[i + 1] = 128, inks.bytes[i + 2] = 0, inks.bytes[i + 3] = 128;
  }
  FileBytes file = as_jpeg(compress(inks, TJPF_CMYK, TJSAMP_444));
  Picture picture = decode_jpeg(file, {.least = {16, 16}});
  EXPECT_LE(difference(picture, plain_picture({16, 16}, 128, 64, 0)), 4);
  EXPECT_NEAR(decode_jpeg(file, {.channels = 1}).bytes[0], luminance(128, 64, 0), 3);
}

TEST(Jpeg, IsDecodedSmallerButNotBelowTheSizeAskedFor) {
  Picture ramp = ramp_picture({400, 300});
  FileBytes file = as_jpeg(jpeg_file(ramp));
  auto size = [&](PictureSize least) { return decode_jpeg(file, {.least = least}).size; };
  EXPECT_EQ(size({400, 300}), (PictureSize{400, 300}));
  EXPECT_EQ(size({201, 100}), (PictureSize{400, 300}));
  EXPECT_EQ(size({200, 150}), (PictureSize{200, 150}));
  EXPECT_EQ(size({60, 75}), (PictureSize{100, 75}));
  EXPECT_EQ(size({1, 1}), (PictureSize{50, 38}));
  EXPECT_LE(difference(decode_jpeg(file, {.least = {100, 75}}), ramp_picture({100, 75})), 8);
}

TEST(Jpeg, ThatIsCutShortIsRefused) {
  std::string whole = jpeg_file(ramp_picture({64, 64}));
  for (std::size_t size : {whole.size() / 2, whole.size() * 3 / 4})
    EXPECT_THAT(error_of([&] { decode_jpeg(as_jpeg(whole.substr(0, size)), {}); }),
                testing::AllOf(HasSubstr("'a.jpg': the JPEG file is cut short"),
                               HasSubstr("fetch or save it again")));
  EXPECT_THAT(error_of([&] { decode_jpeg(as_jpeg(whole.substr(0, 30)), {}); }),
              HasSubstr("'a.jpg': the JPEG file is"));
}

TEST(Jpeg, WithBytesBetweenItsPartsIsRead) {
  std::string file = jpeg_file(ramp_picture({16, 16}));
  file.insert(file.size() - 2, "xx");  // before the mark of the end, as some cameras do
  EXPECT_EQ(error_of([&] { decode_jpeg(as_jpeg(file), {}); }), "");
}

TEST(Jpeg, OfTooManyPixelsIsRefusedBeforeItIsDecoded) {
  std::string file = jpeg_file(plain_picture({8, 8}, 0));
  std::size_t frame = file.find("\xFF\xC0");  // then length, bits, height and width
  ASSERT_NE(frame, std::string::npos);
  file.replace(frame + 5, 4, "\xFF\x00\xFF\x00", 4);
  for (auto read : {+[](const FileBytes& bytes) { jpeg_size(bytes); },
                    +[](const FileBytes& bytes) { decode_jpeg(bytes, {}); }})
    EXPECT_THAT(error_of([&] { read(as_jpeg(file)); }),
                testing::AllOf(HasSubstr("65280 x 65280 pixels"), HasSubstr("limit")));
}

}  // namespace
}  // namespace troika::data
