#include "ops/window.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace troika {
namespace {

TEST(Window, CountsTheOutputsOfKnownLayers) {
  EXPECT_EQ(window_count({.reach = 7, .stride = 2, .pad = 3, .pad_end = 3}, 224),
            112);  // ResNet's first layer
  EXPECT_EQ(window_count({.reach = 11, .stride = 4, .pad = 2, .pad_end = 2}, 224),
            55);  // AlexNet's
  EXPECT_EQ(window_count({.reach = 1, .stride = 2}, 56), 28);
}

/// Every split in two of every small window: both halves together cover the input, and each has
/// exactly its outputs.
TEST(Window, HalvesCoverTheInputAndKeepTheirExtents) {
  for (std::int64_t reach = 1; reach <= 4; ++reach) {
    for (std::int64_t stride = 1; stride <= 4; ++stride) {
      for (std::int64_t pad = 0; pad < reach; ++pad) {
        for (std::int64_t extent = 5; extent <= 9; ++extent) {
          Window window{reach, stride, pad, reach - 1 - pad};
          std::int64_t outputs = window_count(window, extent);
          DimMap map = window_map(0, window, extent);
          for (std::int64_t at = 1; at < outputs; ++at) {
            Range first = project(map, {{{0, at}}}, extent),
                  second = project(map, {{{at, outputs}}}, extent);
            EXPECT_EQ(first.begin, 0);
            EXPECT_LE(second.begin, first.end);
            EXPECT_EQ(second.end, extent);
            Pads before = local_pads(window, {0, at}, first),
                 after = local_pads(window, {at, outputs}, second);
            EXPECT_EQ(window_count({reach, stride, before.begin, before.end}, first.extent()), at);
            EXPECT_EQ(window_count({reach, stride, after.begin, after.end}, second.extent()),
                      outputs - at);
          }
        }
      }
    }
  }
}

TEST(Window, ReadsOnlyTheHaloItNeeds) {
  DimMap map = window_map(0, {.reach = 3, .pad = 1, .pad_end = 1}, 8);
  EXPECT_EQ(project(map, {{{0, 4}}}, 8), (Range{0, 5}));
  EXPECT_EQ(project(map, {{{4, 8}}}, 8), (Range{3, 8}));
  // A 1x1 convolution of stride 2 needs none.
  EXPECT_EQ(project(window_map(0, {.stride = 2}, 8), {{{0, 2}}}, 8), (Range{0, 4}));
}

TEST(Window, RefusesPlacesThatSeePaddingAlone) {
  EXPECT_THROW(require_window("pool2d", {.reach = 2, .pad = 2}, 8), Error);
  EXPECT_THROW(require_window("pool2d", {.reach = 2, .pad_end = 2}, 8), Error);
  EXPECT_THROW(require_window("pool2d", {.reach = 9}, 8), Error);
  EXPECT_NO_THROW(require_window("pool2d", {.reach = 9, .pad_end = 1}, 8));
}

}  // namespace
}  // namespace troika
