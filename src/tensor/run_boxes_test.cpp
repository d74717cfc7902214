#include <gtest/gtest.h>

#include "tensor/region.h"

namespace troika {
namespace {

/// Every run of the region, element by element.
TEST(BoxesOfRun, CoverJustTheElementsOfTheRunInTheirOrder) {
  for (const Region& region : {Region{{{2, 5}, {1, 5}, {0, 2}}}, Region{{{3, 10}}},
                               Region{{{0, 1}, {4, 7}}}, Region{{{0, 2}, {0, 1}, {0, 3}}}}) {
    for (std::int64_t begin = 0; begin <= region.elements(); ++begin) {
      for (std::int64_t end = begin; end <= region.elements(); ++end) {
        std::int64_t next = begin;
        std::vector<RunBox> boxes = boxes_of_run(region, {begin, end});
        EXPECT_LE(boxes.size(), 2 * region.rank());
        for (const RunBox& part : boxes) {
          EXPECT_EQ(part.offset, next - begin);
          ASSERT_TRUE(contains(region, part.box)) << to_string(part.box);
          std::int64_t at = next;
          for_each_run(region.shape(), within(part.box, region),
                       [&](std::int64_t offset, std::int64_t length) {
                         EXPECT_EQ(offset, at);
                         at += length;
                       });
          next = at;
        }
        EXPECT_EQ(next, end);
      }
    }
  }
}

}  // namespace
}  // namespace troika
