#include "data/image_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "data/loader.h"
#include "data/testing/allocations.h"
#include "data/testing/file_fixture.h"
#include "data/testing/image_fixture.h"

namespace troika::data {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

/// Two classes, dark PNG and bright JPEG files, all 12 x 8.
class ImageFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!built_with_jpeg() || !built_with_png())
      GTEST_SKIP() << "libturbojpeg or libpng was not found";
    for (int i = 0; i < 3; ++i) {
      add("dark/" + std::to_string(i) + ".png", png_file(plain_picture({12, 8}, 10 * i, 0, 20)));
      add("light/" + std::to_string(i) + ".jpg", jpeg_file(plain_picture({12, 8}, 200 + 10 * i)));
    }
  }

  void add(const std::string& name, const std::string& content) {
    std::filesystem::create_directories(std::filesystem::path(folder_.path(name)).parent_path());
    folder_.write(name, content);
  }
  std::string uri(const std::string& more = "") { return "images:" + folder_.path() + more; }
  std::string error(const std::string& more = "", const OpenOptions& options = {}) {
    return error_of([&] { read_all(*open(uri(more), options)); });
  }

  TemporaryFolder folder_;
  OpenOptions plain_{.normalization = Normalization::identity()};
};

TEST_F(ImageFolderTest, HasAClassPerFolder) {
  auto set = open(uri(), plain_);
  EXPECT_EQ(set->size(), 6);
  EXPECT_EQ(set->classes(), 2);
  EXPECT_THAT(set->encoding().labels, ElementsAre("dark", "light"));
  EXPECT_THAT(set->class_sizes(), ElementsAre(3, 3));
  EXPECT_EQ(set->fields()[0].spec.shape, (Shape{3, 8, 12}));
  Values second = read_sample(*set, 1);
  EXPECT_EQ(second.target[0], 0);
  EXPECT_EQ(second.input[0], scale_byte(10));
  EXPECT_EQ(second.input[96], 0);
  EXPECT_EQ(second.input[192], scale_byte(20));
  Values last = read_sample(*set, 5);
  EXPECT_EQ(last.target[0], 1);
  EXPECT_NEAR(last.input[100], scale_byte(220), 0.01);
}

TEST_F(ImageFolderTest, TakesRangesAndChannels) {
  auto set = open(uri("?channels=1[2:5]"), plain_);
  EXPECT_EQ(set->size(), 3);
  EXPECT_THAT(set->class_sizes(), ElementsAre(1, 2));
  EXPECT_EQ(set->fields()[0].spec.shape, (Shape{1, 8, 12}));
  EXPECT_EQ(read_sample(*set, 0).input[0], scale_byte(luminance(20, 0, 20)));
}

TEST_F(ImageFolderTest, ResizesToTheShorterSideAndUsesTheCentre) {
  // Red left and right of a blue square: the square is the centre, and small enough to be decoded
  // at an eighth.
  Picture flag = plain_picture({400, 200}, 255, 0, 0);
  for (std::size_t y = 0; y < 200; ++y)
    for (std::size_t x = 100; x < 300; ++x) {
      flag.bytes[(y * 400 + x) * 3] = 0;
      flag.bytes[(y * 400 + x) * 3 + 2] = 255;
    }
  add("flag/a.png", png_file(flag));
  add("flag/b.jpg", jpeg_file(flag));
  EXPECT_THAT(error(), AllOf(HasSubstr("flag/a.png': this image has 400 x 200 pixels, but"),
                             HasSubstr("add ?size=HEIGHTxWIDTH")));
  auto set = open(uri("?size=16"), plain_);
  EXPECT_EQ(set->fields()[0].spec.shape, (Shape{3, 16, 16}));
  for (std::int64_t index : {3, 4}) {
    std::vector<float> pixels = read_sample(*set, index).input;
    for (std::size_t i = 0; i < 256; ++i) {
      bool is_edge = i % 16 == 0 || i % 16 == 15;  // blends with the red beside it
      EXPECT_NEAR(pixels[i], 0, is_edge ? 0.3 : 0.02) << index;
      EXPECT_NEAR(pixels[512 + i], 1, is_edge ? 0.3 : 0.02) << index;
    }
  }
  EXPECT_EQ(open(uri("?size=10x20"), plain_)->fields()[0].spec.shape, (Shape{3, 10, 20}));
}

TEST_F(ImageFolderTest, GoesByTheContentOfAFileNotByItsEnding) {
  add("dark/3.jpg", png_file(plain_picture({12, 8}, 50, 50, 50)));
  EXPECT_EQ(read_sample(*open(uri(), plain_), 3).input[0], scale_byte(50));
}

TEST_F(ImageFolderTest, IsReadLikeTheSetOfAModel) {
  auto trained = open(uri("?size=4x6&channels=1"), plain_);
  TemporaryFolder other;
  std::filesystem::create_directories(other.path("light"));
  other.write("light/x.png", png_file(plain_picture({30, 30}, 77)));
  auto set = open("images:" + other.path(), {.like = trained->encoding()});
  EXPECT_EQ(set->encoding(), trained->encoding());
  EXPECT_THAT(set->class_sizes(), ElementsAre(0, 1));
  EXPECT_EQ(read_sample(*set, 0).target[0], 1) << "by its name, not by its place";
  EXPECT_EQ(read_sample(*set, 0).input[0], scale_byte(77));
  std::filesystem::create_directories(other.path("grey"));
  other.write("grey/x.png", png_file(plain_picture({30, 30}, 77)));
  EXPECT_THAT(error_of([&] { open("images:" + other.path(), {.like = trained->encoding()}); }),
              HasSubstr("the class folder 'grey' is not known; the model knows dark, light"));
  EXPECT_THAT(error("?size=5", {.like = trained->encoding()}), HasSubstr("was trained on samples"));
}

TEST_F(ImageFolderTest, NamesTheFileThatIsBad) {
  add("dark/1.png", "GIF89a");
  EXPECT_THAT(error("?size=8"), HasSubstr("dark/1.png': neither a JPEG nor a PNG image"));
  EXPECT_THAT(error(), HasSubstr("dark/1.png': neither a JPEG nor a PNG image"));
  add("dark/1.png", "");
  EXPECT_THAT(error("?size=8"), HasSubstr("dark/1.png': the file is empty"));
  std::string whole = jpeg_file(ramp_picture({64, 64}));
  add("dark/1.png", whole.substr(0, whole.size() / 2));
  EXPECT_THAT(error("?size=8"), HasSubstr("dark/1.png': the JPEG file is cut short"));
}

TEST_F(ImageFolderTest, RefusesABadSizeOrNumberOfChannels) {
  for (const char* size : {"0", "x", "8x", "x8", "-4", "8x8x8", "9000", "8 ", ""})
    EXPECT_THAT(error(std::string("?size=") + size), HasSubstr("size must be")) << size;
  for (const char* channels : {"2", "4"})
    EXPECT_THAT(error(std::string("?channels=") + channels), HasSubstr("channels must be 1 or 3"));
}

TEST_F(ImageFolderTest, CutsRandomPartsOutOfTheWholeImage) {
  add("dark/3.png", png_file(ramp_picture({300, 200})));
  OpenOptions options = plain_;
  options.augment = {"random_crop", "flip"};
  auto set = open(uri("?size=8"), options);
  EXPECT_EQ(read_sample(*set, 3, 1), read_sample(*set, 3, 1));
  EXPECT_NE(read_sample(*set, 3, 1), read_sample(*set, 3, 2));
}

TEST_F(ImageFolderTest, MakesTheSameBatchesWithAnyNumberOfThreads) {
  OpenOptions options{.augment = {"random_crop", "flip"}};
  auto set = open(uri("?size=6"), options);
  Loader alone(*set, {.batch = 4}), team(*set, {.batch = 4, .threads = 3});
  for (int step = 0; step < 5; ++step) {
    const Batch &a = *alone.next(), &b = *team.next();
    for (std::size_t field = 0; field < a.fields.size(); ++field)
      EXPECT_TRUE(std::ranges::equal(a.fields[field].bytes(), b.fields[field].bytes()));
  }
}

TEST_F(ImageFolderTest, KeepsNoPixelsInMemory) {
  std::string large = jpeg_file(ramp_picture({800, 800}));
  for (int i = 0; i < 4; ++i) add("large/" + std::to_string(i) + ".jpg", large);
  reset_allocations();
  auto set = open(uri("?size=32"), plain_);
  EXPECT_LT(allocations().largest, 100'000u);
  read_all(*set);
  EXPECT_LT(allocations().largest, 800'000u) << "decoded at a part of their size";
}

// 60 images of 750 kB each, in threes: memory holds the batches of the ring and one image per
// thread.
TEST_F(ImageFolderTest, KeepsOneImagePerThreadWhileBatchesAreMade) {
  constexpr std::int64_t kImage = 500 * 500 * 3, kCount = 60;
  std::string large = png_file(ramp_picture({500, 500}));
  for (int i = 0; i < kCount; ++i) add("large/" + std::to_string(i) + ".png", large);
  reset_allocations();
  auto set = open(uri("?size=16"), plain_);
  Loader loader(*set, {.batch = 3, .threads = 3});
  for (int step = 0; step < 44; ++step) loader.next();
  EXPECT_GT(allocations().peak, kImage);
  EXPECT_LT(allocations().peak, 5 * kImage) << "of " << kCount;
}

}  // namespace
}  // namespace troika::data
