#include "strategy/tiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/text.h"

namespace troika {
namespace {

using testing::ElementsAre;

/// Axes n = 6, o = 4, i = 3.
Signature linear() {
  TensorSpec x{{6, 3}, DType::f32};
  return signature(Op{Linear{.out = 4}}, std::span(&x, 1));
}

std::vector<DeviceId> devices(std::size_t count) {
  std::vector<DeviceId> ids;
  for (std::size_t index = 0; index < count; ++index) ids.push_back(DeviceId(index));
  return ids;
}

std::vector<std::string> boxes(const std::vector<Tile>& tiles) {
  std::vector<std::string> texts;
  for (const Tile& tile : tiles)
    texts.push_back(to_string(tile.box) + "@" + std::to_string(tile.device.value));
  return texts;
}

TEST(Tiles, AreRowMajorOverTheAxesOfTheSignature) {
  Split split{.degrees = {{"o", 2}, {"n", 2}}, .devices = devices(4)};
  EXPECT_THAT(
      boxes(tiles_of(linear(), split, {})),
      ElementsAre("[0:3,0:2,0:3]@0", "[0:3,2:4,0:3]@1", "[3:6,0:2,0:3]@2", "[3:6,2:4,0:3]@3"));
}

TEST(Tiles, ReplicasAreNextToEachOther) {
  Split split{.degrees = {{"o", 2}}, .replicas = 2, .devices = devices(4)};
  EXPECT_THAT(
      boxes(tiles_of(linear(), split, {})),
      ElementsAre("[0:6,0:2,0:3]@0", "[0:6,0:2,0:3]@1", "[0:6,2:4,0:3]@2", "[0:6,2:4,0:3]@3"));
}

TEST(Tiles, LieInsideTheirMicroBatch) {
  Split split{.degrees = {{"n", 2}}, .devices = devices(2)};
  EXPECT_THAT(boxes(tiles_of(linear(), split, {1, 2})),
              ElementsAre("[3:5,0:4,0:3]@0", "[5:6,0:4,0:3]@1"));
}

TEST(Tiles, FollowWeights) {
  Split split{.degrees = {{"n", 2}}, .weights = {{"n", {1, 2}}}, .devices = devices(2)};
  EXPECT_THAT(boxes(tiles_of(linear(), split, {})),
              ElementsAre("[0:2,0:4,0:3]@0", "[2:6,0:4,0:3]@1"));
}

TEST(Tiles, ColumnsOfAProductAreNotCutIntoMicroBatches) {
  std::vector<TensorSpec> inputs{{{3, 6}, DType::f32}, {{6, 4}, DType::f32}};
  Split split{.devices = devices(1)};
  EXPECT_THAT(boxes(tiles_of(signature(Op{Matmul{}}, inputs), split, {1, 2})),
              ElementsAre("[0:3,0:4,0:6]@0"));
}

TEST(Tiles, PartsOfARangeAddUpForAnyWeights) {
  for (std::int64_t extent = 1; extent <= 40; ++extent) {
    std::vector<double> weights{0.3, 5, 1e-3, 2};
    std::int64_t at = 7;
    for (Range part : cut({7, 7 + extent}, 4, weights)) {
      EXPECT_EQ(part.begin, at);
      EXPECT_GE(part.end, part.begin);
      at = part.end;
    }
    EXPECT_EQ(at, 7 + extent);
  }
}

}  // namespace
}  // namespace troika
