#include "strategy/tiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
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
  Split split{.factors = {{"o", 2}, {"n", 2}}, .devices = devices(4)};
  EXPECT_THAT(
      boxes(tiles_of(linear(), split, {})),
      ElementsAre("[0:3,0:2,0:3]@0", "[0:3,2:4,0:3]@1", "[3:6,0:2,0:3]@2", "[3:6,2:4,0:3]@3"));
}

TEST(Tiles, ReplicasAreNextToEachOther) {
  Split split{.factors = {{"o", 2}, {"", 2}}, .devices = devices(4)};
  EXPECT_THAT(
      boxes(tiles_of(linear(), split, {})),
      ElementsAre("[0:6,0:2,0:3]@0", "[0:6,0:2,0:3]@1", "[0:6,2:4,0:3]@2", "[0:6,2:4,0:3]@3"));
}

TEST(Tiles, LieInsideTheirMicroBatch) {
  Split split{.factors = {{"n", 2}}, .devices = devices(2)};
  EXPECT_THAT(boxes(tiles_of(linear(), split, {1, 2})),
              ElementsAre("[3:5,0:4,0:3]@0", "[5:6,0:4,0:3]@1"));
}

TEST(Tiles, FollowWeights) {
  Split split{.factors = {{.axis = "n", .degree = 2, .weights = {1, 2}}}, .devices = devices(2)};
  EXPECT_THAT(boxes(tiles_of(linear(), split, {})),
              ElementsAre("[0:2,0:4,0:3]@0", "[2:6,0:4,0:3]@1"));
}

TEST(Tiles, OfAViewAreOnTheDevicesOfTheirCoordinates) {
  Split split{.factors = {{"n", 2, 1}, {"o", 2, 3}}, .first = 5};
  EXPECT_THAT(
      boxes(tiles_of(linear(), split, {})),
      ElementsAre("[0:3,0:2,0:3]@5", "[0:3,2:4,0:3]@8", "[3:6,0:2,0:3]@6", "[3:6,2:4,0:3]@9"));
  EXPECT_THAT(boxes(tiles_of(linear(), Split{}, {})), ElementsAre("[0:6,0:4,0:3]@0"));
}

TEST(Tiles, OfAViewMayShareADevice) {
  Split split{.factors = {{"n", 2}, {.axis = "n", .degree = 2, .stride = 0}}};
  EXPECT_THAT(
      boxes(tiles_of(linear(), split, {})),
      ElementsAre("[0:2,0:4,0:3]@0", "[2:3,0:4,0:3]@0", "[3:5,0:4,0:3]@1", "[5:6,0:4,0:3]@1"));
}

TEST(Tiles, TheInnerFactorCutsThePartsOfTheOuterOne) {
  // In one step they would have two, two, one and one samples.
  Split split{.factors = dense({{"n", 2}, {"o", 2}, {"n", 2}})};
  EXPECT_THAT(
      boxes(tiles_of(linear(), split, {})),
      ElementsAre("[0:2,0:2,0:3]@0", "[0:2,2:4,0:3]@2", "[2:3,0:2,0:3]@1", "[2:3,2:4,0:3]@3",
                  "[3:5,0:2,0:3]@4", "[3:5,2:4,0:3]@6", "[5:6,0:2,0:3]@5", "[5:6,2:4,0:3]@7"));
}

TEST(Tiles, WeightsBelongToOneFactor) {
  Split outer{.factors = {{.axis = "n", .degree = 2, .weights = {2, 1}},
                          {.axis = "n", .degree = 2, .stride = 0}}};
  EXPECT_THAT(
      boxes(tiles_of(linear(), outer, {})),
      ElementsAre("[0:2,0:4,0:3]@0", "[2:4,0:4,0:3]@0", "[4:5,0:4,0:3]@1", "[5:6,0:4,0:3]@1"));
  Split inner{.factors = {{"n", 2}, {.axis = "n", .degree = 2, .stride = 0, .weights = {1, 2}}}};
  EXPECT_THAT(
      boxes(tiles_of(linear(), inner, {})),
      ElementsAre("[0:1,0:4,0:3]@0", "[1:3,0:4,0:3]@0", "[3:4,0:4,0:3]@1", "[4:6,0:4,0:3]@1"));
}

/// By the definition alone: the box, the replica and the device of one coordinate of each factor.
struct Expected {
  std::vector<std::int64_t> part{0, 0, 0};
  std::vector<Range> box{{0, 6}, {0, 4}, {0, 3}};
  std::int64_t replica = 0;
  std::int64_t device = 0;
};

Expected expected_at(const Split& split, std::int64_t place) {
  std::vector<std::int64_t> coordinates(split.factors.size());
  for (std::size_t at = split.factors.size(); at-- > 0; place /= split.factors[at].degree)
    coordinates[at] = place % split.factors[at].degree;
  Expected expected{.device = split.first};
  for (std::size_t at = 0; at < split.factors.size(); ++at) {
    const Factor& factor = split.factors[at];
    expected.device += coordinates[at] * factor.stride;
    if (factor.axis.empty()) {
      expected.replica = expected.replica * factor.degree + coordinates[at];
      continue;
    }
    std::size_t axis = std::string("noi").find(factor.axis);
    Range& range = expected.box[axis];
    Range inner = part_of(range.extent(), coordinates[at], factor.degree);
    range = {range.begin + inner.begin, range.begin + inner.end};
    expected.part[axis] = expected.part[axis] * factor.degree + coordinates[at];
  }
  return expected;
}

TEST(Tiles, FollowTheDefinitionForAnyOrderOfFactors) {
  RandomStream random{.key = 7};
  std::uint64_t drawn = 0;
  auto below = [&](std::uint64_t bound) {
    return static_cast<std::int64_t>(random.below(drawn++, bound));
  };
  for (int trial = 0; trial < 500; ++trial) {
    Split split{.first = below(5)};
    for (std::int64_t count = below(5); count > 0; --count)
      split.factors.push_back(
          {std::vector<std::string>{"n", "o", "i", ""}[static_cast<std::size_t>(below(4))],
           1 + below(3), below(9)});
    TileMap map = map_tiles(linear(), split, {});
    std::vector<Tile> tiles = tiles_of(linear(), split, {});
    ASSERT_EQ(std::ssize(tiles), tile_count(split) * replicas_of(split));
    ASSERT_EQ(map.device.size(), tiles.size());
    for (std::int64_t place = 0; place < std::ssize(tiles); ++place) {
      Expected expected = expected_at(split, place);
      std::int64_t tile = 0;
      for (std::size_t axis : {0u, 1u, 2u})
        tile = tile * std::ssize(map.parts[axis]) + expected.part[axis];
      const Tile& found =
          tiles.at(static_cast<std::size_t>(tile * map.replicas + expected.replica));
      ASSERT_EQ(found.part, expected.part);
      ASSERT_EQ(found.box.ranges, expected.box);
      ASSERT_EQ(found.device.value, expected.device);
    }
  }
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
