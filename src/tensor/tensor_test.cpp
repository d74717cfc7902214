#include <gtest/gtest.h>

#include <vector>

#include "tensor/layout.h"
#include "tensor/region.h"
#include "tensor/tensor_spec.h"

namespace troika {
namespace {

TEST(Shape, ReadsBackWhatItPrints) {
  for (const Shape& shape : {Shape{}, Shape{7}, Shape{8, 3, 224, 224}, Shape{0, 2}})
    EXPECT_EQ(parse_shape(to_string(shape)), shape) << to_string(shape);
}

TEST(Shape, RefusesMalformedText) {
  for (const char* text :
       {"", "[", "[1", "1]", "[1,]", "[,1]", "[a]", "[-1]", "[1 2]", "[1,2,3,4,5,6,7,8,9]"})
    EXPECT_THROW(parse_shape(text), Error) << text;
}

TEST(Shape, StridesAreRowMajor) {
  auto strides = Shape{2, 3, 4}.strides();
  EXPECT_EQ(strides[0], 12);
  EXPECT_EQ(strides[1], 4);
  EXPECT_EQ(strides[2], 1);
}

TEST(Range, PartsCoverWithoutOverlap) {
  for (std::int64_t extent : {1, 7, 12}) {
    for (std::int64_t parts = 1; parts <= extent; ++parts) {
      std::int64_t at = 0;
      for (std::int64_t index = 0; index < parts; ++index) {
        Range part = part_of(extent, index, parts);
        EXPECT_EQ(part.begin, at);
        EXPECT_GT(part.extent(), 0);
        at = part.end;
      }
      EXPECT_EQ(at, extent);
    }
  }
}

TEST(Region, RunsVisitEveryElementOnceInOrder) {
  Shape shape{3, 4, 5};
  Region region{{{1, 3}, {0, 2}, {2, 5}}};
  std::vector<std::int64_t> seen;
  for_each_run(shape, region, [&](std::int64_t offset, std::int64_t length) {
    for (std::int64_t i = 0; i < length; ++i) seen.push_back(offset + i);
  });
  std::vector<std::int64_t> expected;
  for (std::int64_t a = 1; a < 3; ++a)
    for (std::int64_t b = 0; b < 2; ++b)
      for (std::int64_t c = 2; c < 5; ++c) expected.push_back((a * 4 + b) * 5 + c);
  EXPECT_EQ(seen, expected);
}

TEST(Region, IntersectionOfDisjointBoxesIsEmpty) {
  EXPECT_TRUE(intersect(Region{{{0, 2}}}, Region{{{2, 4}}}).empty());
  EXPECT_TRUE(contains(Region{{{0, 4}}}, Region{{{1, 3}}}));
  EXPECT_FALSE(contains(Region{{{0, 2}}}, Region{{{1, 3}}}));
}

TEST(Layout, BlocksArePaddedToFullBlocks) {
  EXPECT_EQ(stored_elements(Layout::plain, {2, 3, 4, 4}), 96);
  EXPECT_EQ(stored_elements(Layout::blocked16, {2, 3, 4, 4}), 2 * 16 * 16);
  EXPECT_EQ(stored_elements(Layout::weight_io8, {10, 3, 3, 3}), 16 * 8 * 9);
  EXPECT_EQ(stored_elements(Layout::weight_o16, {10, 3, 3, 3}), 16 * 3 * 9);
}

TEST(Layout, NamesReadBack) {
  for (int i = 0; i <= static_cast<int>(Layout::group_g16); ++i) {
    auto layout = static_cast<Layout>(i);
    EXPECT_EQ(parse_layout(to_string(layout)), layout);
  }
  EXPECT_THROW(parse_layout("diagonal"), Error);
}

}  // namespace
}  // namespace troika
