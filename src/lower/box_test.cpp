#include "lower/box.h"

#include <gtest/gtest.h>

#include "lower/testing/random_redistribution.h"

namespace troika {
namespace {

Box random_box(Draws& draws) {
  Box box;
  for (int dim = 0; dim < 3; ++dim) {
    box.begin[dim] = static_cast<std::int32_t>(draws.below(4));
    box.end[dim] = static_cast<std::int32_t>(box.begin[dim] + 1 + draws.below(4 - box.begin[dim]));
  }
  return box;
}

bool has(const Box& box, std::array<std::int32_t, 3> point) {
  for (int dim = 0; dim < 3; ++dim)
    if (point[dim] < box.begin[dim] || point[dim] >= box.end[dim]) return false;
  return true;
}

TEST(Box, WithoutAnotherIsDisjointBoxesOfTheRest) {
  Draws draws(1);
  for (int round = 0; round < 500; ++round) {
    Box a = random_box(draws), b = random_box(draws);
    std::vector<Box> left;
    subtract(a, b, 3, left);
    bool meet = false, inside = true;
    for (std::int32_t x = 0; x < 4; ++x) {
      for (std::int32_t y = 0; y < 4; ++y) {
        for (std::int32_t z = 0; z < 4; ++z) {
          std::array point{x, y, z};
          auto found = std::ranges::count_if(left, [&](const Box& box) { return has(box, point); });
          EXPECT_EQ(found, has(a, point) && !has(b, point) ? 1 : 0);
          meet = meet || (has(a, point) && has(b, point));
          inside = inside && (!has(b, point) || has(a, point));
        }
      }
    }
    EXPECT_EQ(overlap(a, b, 3), meet);
    EXPECT_EQ(contains(a, b, 3), inside);
    EXPECT_TRUE(!meet || contains(a, intersect(a, b, 3), 3));
  }
}

TEST(Box, WithoutDimensionsHasOneElement) {
  Box scalar;
  EXPECT_EQ(elements(scalar, 0), 1);
  EXPECT_TRUE(overlap(scalar, scalar, 0));
  std::vector<Box> left;
  subtract(scalar, scalar, 0, left);
  EXPECT_TRUE(left.empty());
}

TEST(Box, IsARunWhereNothingWideLiesBefore) {
  Frame frame{.dims = 3, .extents = {2, 4, 5}};
  Box whole = make_box({{0, 2}, {0, 4}, {0, 5}});
  EXPECT_EQ(find_run(make_box({{1, 2}, {0, 4}, {0, 5}}), whole, frame), 20);
  EXPECT_EQ(find_run(make_box({{1, 2}, {1, 3}, {0, 5}}), whole, frame), 25);
  EXPECT_EQ(find_run(make_box({{1, 2}, {1, 2}, {2, 4}}), whole, frame), 27);
  EXPECT_EQ(find_run(make_box({{0, 2}, {1, 3}, {0, 5}}), whole, frame), std::nullopt);
  EXPECT_EQ(find_run(make_box({{1, 2}, {1, 3}, {2, 4}}), whole, frame), std::nullopt);
  EXPECT_EQ(find_run(whole, whole, frame), 0);
  frame.wide_before = {false, true, true};
  EXPECT_EQ(find_run(make_box({{1, 2}, {0, 4}, {0, 5}}), whole, frame), 20);
  EXPECT_EQ(find_run(make_box({{1, 2}, {1, 3}, {0, 5}}), whole, frame), std::nullopt);
}

TEST(BoxTable, HasEachBoxOnce) {
  BoxTable table({make_box({{0, 2}}), make_box({{2, 4}})}, 1);
  EXPECT_EQ(table.find_or_add(make_box({{2, 4}})), 1);
  EXPECT_EQ(table.find_or_add(make_box({{0, 4}})), 2);
  for (std::int32_t at = 0; at < 100; ++at)
    EXPECT_EQ(table.find_or_add(make_box({{at, at + 7}})), 3 + at);
  EXPECT_EQ(table.find_or_add(make_box({{0, 4}})), 2);
  EXPECT_EQ(table.size(), 103);
}

TEST(BoxIndex, FindsJustWhatOverlaps) {
  Draws draws(2);
  for (int round = 0; round < 100; ++round) {
    std::vector<Box> boxes(20);
    for (Box& box : boxes) box = random_box(draws);
    BoxTable table(boxes, 3);
    std::vector<std::int32_t> ids{0, 2, 4, 6, 8, 10, 12, 14, 16, 18};
    BoxIndex index;
    index.build(table, ids);
    Box asked = random_box(draws);
    std::vector<std::int32_t> found, expected;
    index.for_each_overlap(asked, [&](std::int32_t at) { found.push_back(ids[at]); });
    for (std::int32_t id : ids)
      if (overlap(boxes[id], asked, 3)) expected.push_back(id);
    std::ranges::sort(found);
    EXPECT_EQ(found, expected);
  }
}

}  // namespace
}  // namespace troika
