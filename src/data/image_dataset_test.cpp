#include "data/image_dataset.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "data/testing/file_fixture.h"

namespace troika::data {
namespace {

/// `count` copies of one image; the label is the number of the copy.
class Copies final : public ImageSource {
 public:
  Copies(Shape shape, std::vector<float> pixels, std::int64_t count)
      : shape_(shape), pixels_(std::move(pixels)), count_(count) {}
  std::int64_t size() const override { return count_; }
  const Shape& shape() const override { return shape_; }
  std::int64_t classes() const override { return count_; }
  void read_pixels(std::int64_t, std::span<float> pixels) const override {
    std::ranges::copy(pixels_, pixels.begin());
  }
  std::int32_t label(std::int64_t index) const override { return static_cast<std::int32_t>(index); }

 private:
  Shape shape_;
  std::vector<float> pixels_;
  std::int64_t count_;
};

std::vector<float> ramp(std::int64_t count) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i + 1));
  return values;
}

ImageDataset copies(const Shape& shape, OpenOptions options, std::int64_t count = 100) {
  return {std::make_unique<Copies>(shape, ramp(shape.elements()), count), Range{0, count}, options};
}

/// The image moved by whole pixels, black where nothing was.
std::vector<float> shifted(const Shape& shape, std::int64_t down, std::int64_t right) {
  std::vector<float> from = ramp(shape.elements());
  std::vector<float> to;
  for (std::int64_t c = 0; c < shape[0]; ++c)
    for (std::int64_t y = down; y < down + shape[1]; ++y)
      for (std::int64_t x = right; x < right + shape[2]; ++x) {
        bool inside = y >= 0 && y < shape[1] && x >= 0 && x < shape[2];
        to.push_back(inside ? from[static_cast<std::size_t>((c * shape[1] + y) * shape[2] + x)]
                            : 0.0F);
      }
  return to;
}

TEST(Normalization, GivesEachChannelMeanZeroAndDeviationOne) {
  auto set = open("digits:train?size=700");
  double sum = 0, squares = 0, count = 0;
  for (const Values& values : read_all(*set))
    for (float value : values.input) sum += value, squares += value * value, ++count;
  EXPECT_NEAR(sum / count, 0, 1e-4);
  EXPECT_NEAR(squares / count, 1, 1e-3);
}

TEST(Normalization, IsMeasuredPerChannel) {
  Copies source({2, 1, 2}, {1, 3, 10, 30}, 5);
  Normalization measured = measure(source, {0, 5});
  EXPECT_EQ(measured.mean, (std::vector<float>{2, 20}));
  EXPECT_EQ(measured.deviation, (std::vector<float>{1, 10}));
}

TEST(Normalization, LeavesAConstantChannelItsScale) {
  Copies source({2, 1, 2}, {5, 5, 0, 0}, 3);
  EXPECT_EQ(measure(source, {0, 3}), (Normalization{{5, 0}, {1, 1}}));
}

TEST(Normalization, MayBeGivenForAllChannelsOrForEach) {
  Shape shape{2, 1, 2};
  EXPECT_EQ(read_sample(copies(shape, {.normalization = Normalization{{1}, {2}}}), 0).input,
            (std::vector<float>{0, .5, 1, 1.5}));
  EXPECT_EQ(read_sample(copies(shape, {.normalization = Normalization{{1, 3}, {1, .5}}}), 0).input,
            (std::vector<float>{0, 1, 0, 2}));
}

TEST(Normalization, RefusesNumbersThatCannotBe) {
  for (const Normalization& bad :
       {Normalization{{0}, {0}}, Normalization{{0}, {-1}}, Normalization{{NAN}, {1}},
        Normalization{{0, 0, 0}, {1}}, Normalization{{}, {}}, Normalization{{0}, {INFINITY}}})
    EXPECT_THROW(copies({2, 4, 4}, {.normalization = bad}), Error);
}

TEST(Augmentation, CropShiftsByUpToItsPixelsEachWay) {
  Shape shape{2, 5, 4};
  auto set =
      copies(shape, {.normalization = Normalization::identity(), .augment = {"crop 2"}}, 400);
  std::set<std::vector<float>> possible, seen;
  for (int down = -2; down <= 2; ++down)
    for (int right = -2; right <= 2; ++right) possible.insert(shifted(shape, down, right));
  for (const Values& values : read_all(set)) seen.insert(values.input);
  EXPECT_EQ(seen, possible);
}

TEST(Augmentation, FlipMirrorsAboutHalfOfTheImages) {
  auto set =
      copies({1, 2, 3}, {.normalization = Normalization::identity(), .augment = {"flip"}}, 400);
  int flipped = 0;
  for (const Values& values : read_all(set)) {
    bool mirrored = values.input == std::vector<float>{3, 2, 1, 6, 5, 4};
    EXPECT_TRUE(mirrored || values.input == ramp(6));
    flipped += mirrored ? 1 : 0;
  }
  EXPECT_GT(flipped, 150);
  EXPECT_LT(flipped, 250);
}

TEST(Augmentation, RandomCropTakesPartsOfTheStatedAreaAndShape) {
  Augmentation augmentation({"random_crop"}, {3, 8, 8}, 1);
  double smallest = 1, largest = 0, narrowest = 9, widest = 0;
  for (std::int64_t sample = 0; sample < 2000; ++sample) {
    Part part = augmentation.random_part(sample, 0, {400, 300});
    EXPECT_GE(part.x, 0);
    EXPECT_GE(part.y, 0);
    EXPECT_LE(part.x + part.width, 400);
    EXPECT_LE(part.y + part.height, 300);
    double area = part.width * part.height / (400 * 300), aspect = part.width / part.height;
    smallest = std::min(smallest, area), largest = std::max(largest, area);
    narrowest = std::min(narrowest, aspect), widest = std::max(widest, aspect);
  }
  EXPECT_NEAR(smallest, 0.08, 0.01);
  EXPECT_GT(largest, 0.9);
  EXPECT_NEAR(narrowest, 0.75, 0.02);
  EXPECT_NEAR(widest, 1.333, 0.02);
}

TEST(Augmentation, RandomCropOfALongImageTakesItsCentre) {
  Augmentation augmentation({"random_crop"}, {3, 8, 8}, 1);
  int centred = 0;
  for (std::int64_t sample = 0; sample < 50; ++sample) {
    Part part = augmentation.random_part(sample, 0, {900, 3});
    EXPECT_LE(part.x + part.width, 900);
    centred += part == Part{.x = 448, .y = 0, .width = 4, .height = 3} ? 1 : 0;
  }
  EXPECT_GT(centred, 40);
}

TEST(Augmentation, RandomCropResizesThePartToTheWholeImage) {
  // Columns count up, so a part of them counts up more slowly.
  Shape shape{1, 4, 16};
  std::vector<float> columns;
  for (int i = 0; i < 64; ++i) columns.push_back(static_cast<float>(i % 16));
  ImageDataset set{std::make_unique<Copies>(shape, columns, 50),
                   Range{0, 50},
                   {.normalization = Normalization::identity(), .augment = {"random_crop"}}};
  std::set<std::vector<float>> seen;
  for (const Values& values : read_all(set)) {
    EXPECT_LT(values.input[15] - values.input[0], 15);
    EXPECT_TRUE(std::ranges::is_sorted(std::span(values.input).first(16)));
    seen.insert(values.input);
  }
  EXPECT_GT(seen.size(), 15u);
}

TEST(Augmentation, DependsOnSeedEpochAndSampleAlone) {
  OpenOptions options{.augment = {"crop 4", "flip", "random_crop"}, .seed = 5};
  auto set = copies({3, 16, 16}, options);
  auto again = copies({3, 16, 16}, options);
  for (std::int64_t i = 99; i >= 0; --i)
    EXPECT_EQ(read_sample(set, i, 3), read_sample(again, i, 3));
  auto changes = [&](const auto& other, std::int64_t epoch) {
    int changed = 0;
    for (std::int64_t i = 0; i < 100; ++i)
      changed += read_sample(set, i, 3).input != read_sample(other, i, epoch).input ? 1 : 0;
    return changed;
  };
  EXPECT_GT(changes(set, 4), 90);
  options.seed = 6;
  EXPECT_GT(changes(copies({3, 16, 16}, options), 3), 90);
}

TEST(Augmentation, RefusesUnknownStepsAndBadNumbers) {
  for (const char* step : {"rotate", "crop", "crop x", "crop 0", "crop -1", "crop 8", "crop 2px",
                           "flip 2", "random_crop 2", ""})
    EXPECT_NE(error_of([&] { copies({1, 8, 8}, {.augment = {step}}); }), "") << step;
  EXPECT_NE(error_of([&] { copies({8}, {.augment = {"flip"}}); }).find("needs images"),
            std::string::npos);
}

TEST(ImageDataset, ReadsItsRange) {
  ImageDataset set{std::make_unique<Copies>(Shape{1, 1, 2}, ramp(2), 10), Range{4, 7}, {}};
  EXPECT_EQ(set.size(), 3);
  EXPECT_EQ(read_sample(set, 0).target[0], 4);
  EXPECT_EQ(read_sample(set, 2).target[0], 6);
  EXPECT_THROW(read_sample(set, 3), Bug);
  EXPECT_THROW(read_sample(set, -1), Bug);
}

}  // namespace
}  // namespace troika::data
