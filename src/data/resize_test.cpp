#include "data/resize.h"

#include <gtest/gtest.h>

#include <numeric>

#include "data/image_source.h"
#include "data/testing/image_fixture.h"

namespace troika::data {
namespace {

/// A part of a picture, brought to height x width.
std::vector<float> resized(const Picture& picture, const Part& part, std::int64_t height,
                           std::int64_t width) {
  Shape shape{picture.channels, height, width};
  std::vector<float> pixels(static_cast<std::size_t>(shape.elements()));
  resize(view_of(picture), part, shape, pixels);
  return pixels;
}

Part whole(const Picture& picture) { return centre_part(picture.size, picture.size); }

TEST(Resize, CopiesAPartOfTheSameSize) {
  Picture ramp = ramp_picture({6, 5});
  std::vector<float> pixels = resized(ramp, {.x = 2, .y = 1, .width = 3, .height = 4}, 4, 3);
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t y = 0; y < 4; ++y)
      for (std::size_t x = 0; x < 3; ++x)
        EXPECT_EQ(pixels[(c * 4 + y) * 3 + x],
                  scale_byte(ramp.bytes[((y + 1) * 6 + x + 2) * 3 + c]));
}

TEST(Resize, CountsEveryPixelWhereItShrinks) {
  // A quarter of the columns is white: just those in the middle of a target pixel.
  Picture stripes = plain_picture({64, 64}, 0);
  for (std::size_t i = 0; i < stripes.bytes.size(); ++i)
    if (i % 8 == 3 || i % 8 == 4) stripes.bytes[i] = 255;
  for (float pixel : resized(stripes, whole(stripes), 8, 8)) EXPECT_NEAR(pixel, 0.25, 0.03);
}

TEST(Resize, KeepsTheMean) {
  Picture ramp = ramp_picture({100, 80});
  std::vector<float> pixels = resized(ramp, whole(ramp), 16, 20);
  double red = std::accumulate(pixels.begin(), pixels.begin() + 320, 0.0) / 320;
  EXPECT_NEAR(red, 0.495, 0.005);
}

TEST(Resize, InterpolatesWhereItGrows) {
  Picture two = plain_picture({2, 1}, 0);
  two.bytes[1] = 255;
  std::vector<float> pixels = resized(two, whole(two), 1, 4);
  EXPECT_EQ(pixels, (std::vector<float>{0, 0.25, 0.75, 1}));
}

TEST(Resize, SpreadsASinglePixelOverTheWholeTarget) {
  Picture dot = plain_picture({1, 1}, 51);
  for (float pixel : resized(dot, whole(dot), 4, 4)) EXPECT_FLOAT_EQ(pixel, 0.2f);
}

TEST(Resize, TreatsFloatsAsBytes) {
  Picture ramp = ramp_picture({13, 9});
  std::vector<float> planes = resized(ramp, whole(ramp), 9, 13);
  Part part{.x = 1.5, .y = 2, .width = 7, .height = 6.25};
  std::vector<float> pixels(3 * 4 * 5);
  resize(view_of(planes, {3, 9, 13}), part, {3, 4, 5}, pixels);
  std::vector<float> expected = resized(ramp, part, 4, 5);
  for (std::size_t i = 0; i < pixels.size(); ++i) EXPECT_NEAR(pixels[i], expected[i], 1e-6);
}

TEST(CentrePart, FitsTheShorterSideAndCentresTheOther) {
  EXPECT_EQ(centre_part({200, 100}, {50, 50}),
            (Part{.x = 50, .y = 0, .width = 100, .height = 100}));
  EXPECT_EQ(centre_part({100, 300}, {50, 100}),
            (Part{.x = 0, .y = 50, .width = 100, .height = 200}));
  EXPECT_EQ(centre_part({30, 20}, {30, 20}), (Part{.x = 0, .y = 0, .width = 30, .height = 20}));
}

}  // namespace
}  // namespace troika::data
