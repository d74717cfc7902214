#include <gtest/gtest.h>

#include <set>
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

TEST(Layout, PlacesElementsAsItsNameSays) {
  const Shape shape{20, 18, 3, 5};
  auto place = [&](Layout layout, std::int64_t n, std::int64_t c, std::int64_t y, std::int64_t x) {
    return element_offsets(layout, shape)[static_cast<std::size_t>(((n * 18 + c) * 3 + y) * 5 + x)];
  };
  EXPECT_EQ(place(Layout::plain, 3, 17, 2, 4), ((3 * 18 + 17) * 3 + 2) * 5 + 4);
  EXPECT_EQ(place(Layout::channels_last, 3, 17, 2, 4), ((3 * 3 + 2) * 5 + 4) * 18 + 17);
  EXPECT_EQ(place(Layout::blocked8, 3, 17, 2, 4), (((3 * 3 + 2) * 3 + 2) * 5 + 4) * 8 + 1);
  EXPECT_EQ(place(Layout::blocked16, 3, 17, 2, 4), (((3 * 2 + 1) * 3 + 2) * 5 + 4) * 16 + 1);
  EXPECT_EQ(place(Layout::weight_io16, 18, 5, 2, 4),
            (((1 * 2 + 0) * 3 + 2) * 5 + 4) * 256 + 5 * 16 + 2);
  EXPECT_EQ(place(Layout::weight_oi8, 18, 5, 2, 4),
            (((2 * 3 + 0) * 3 + 2) * 5 + 4) * 64 + 2 * 8 + 5);
  EXPECT_EQ(place(Layout::weight_o8, 18, 5, 2, 4), (((2 * 3 + 2) * 5 + 4) * 18 + 5) * 8 + 2);
  EXPECT_EQ(place(Layout::weight_hwio, 18, 5, 2, 4), ((2 * 5 + 4) * 18 + 5) * 20 + 18);
  EXPECT_EQ(element_offsets(Layout::transposed, {2, 3}),
            (std::vector<std::int64_t>{0, 2, 4, 1, 3, 5}));
  EXPECT_EQ(element_offsets(Layout::group_g8, {9, 1, 1, 2}).back(), (1 * 2 + 1) * 8);
}

TEST(Layout, PanelsLieOneAfterAnotherAndTheLastIsAsWideAsItsVectors) {
  const Shape gates{4, 15, 50};  // a matrix of 60 rows and 50 columns
  auto place = [&](Layout layout, std::int64_t row, std::int64_t column) {
    return element_offsets(layout, gates)[static_cast<std::size_t>(row * 50 + column)];
  };
  EXPECT_EQ(place(Layout::panels8, 2, 17), 16 * 60 + 2 * 16 + 1);
  EXPECT_EQ(place(Layout::panels8, 2, 49), 48 * 60 + 2 * 8 + 1);
  EXPECT_EQ(place(Layout::panels16, 2, 47), 2 * 48 + 47);
  EXPECT_EQ(place(Layout::panels16, 2, 48), 48 * 60 + 2 * 16);
  EXPECT_EQ(place(Layout::turned_panels8, 59, 7), 48 * 50 + 7 * 16 + 11);
  EXPECT_EQ(place(Layout::turned_panels16, 59, 7), 48 * 50 + 7 * 16 + 11);
  EXPECT_EQ(stored_elements(Layout::panels8, gates), 60 * 56);
  EXPECT_EQ(stored_elements(Layout::turned_panels16, gates), 50 * 64);
}

TEST(Layout, GivesEveryElementAPlaceOfItsOwn) {
  for (int layout = 0; layout < static_cast<int>(kLayoutCount); ++layout) {
    for (const Shape& shape :
         {Shape{20, 18, 3, 5}, Shape{7, 1, 2, 3}, Shape{9, 11}, Shape{3, 23, 19}}) {
      if (!fits(static_cast<Layout>(layout), shape)) continue;
      std::vector<std::int64_t> places = element_offsets(static_cast<Layout>(layout), shape);
      EXPECT_EQ(std::ssize(places), shape.elements());
      std::set<std::int64_t> different(places.begin(), places.end());
      EXPECT_EQ(different.size(), places.size()) << to_string(static_cast<Layout>(layout));
      EXPECT_GE(*different.begin(), 0);
      EXPECT_LT(*different.rbegin(), stored_elements(static_cast<Layout>(layout), shape));
    }
  }
}

TEST(Layout, NamesReadBack) {
  for (int i = 0; i < static_cast<int>(kLayoutCount); ++i) {
    auto layout = static_cast<Layout>(i);
    EXPECT_EQ(parse_layout(to_string(layout)), layout);
  }
  EXPECT_THROW(parse_layout("diagonal"), Error);
}

}  // namespace
}  // namespace troika
