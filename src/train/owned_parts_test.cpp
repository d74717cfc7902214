#include "train/owned_parts.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"

namespace troika {
namespace {

const TensorSpec kSpec{{4, 6}, DType::i32};

StoredPlace place(std::size_t device, Range rows, Range columns) {
  return {DeviceId(device), Region{{rows, columns}}};
}

StateEntry tensor(const std::string& name, const StoredPlaces& places) {
  return {name, kSpec, Category::parameter, std::make_shared<StoredPlaces>(places)};
}

std::vector<OwnedPart> divide_all(const std::vector<StateEntry>& state) {
  return divide_state(state, [](DeviceId) { return true; });
}

/// Each tensor holds 0, 1, 2 …. Writes all parts as a checkpoint does and returns how often each
/// element was written.
std::vector<int> write_counts(const std::vector<OwnedPart>& parts) {
  std::vector<std::int32_t> written(24, -1);
  std::vector<int> counts(24);
  for (const OwnedPart& part : parts) {
    std::vector<std::int32_t> slice, own(static_cast<std::size_t>(part.region.elements()));
    for_each_run(kSpec.shape, part.slice, [&](std::int64_t offset, std::int64_t length) {
      for (std::int64_t at = 0; at < length; ++at)
        slice.push_back(static_cast<std::int32_t>(offset + at));
    });
    copy_part(part, std::as_bytes(std::span(slice)), std::as_writable_bytes(std::span(own)));
    auto next = own.begin();
    for_each_run(kSpec.shape, part.region, [&](std::int64_t offset, std::int64_t length) {
      for (std::int64_t at = offset; at < offset + length; ++at) {
        EXPECT_EQ(*next++, at) << "a value of another place";
        ++counts[static_cast<std::size_t>(at)];
      }
    });
  }
  return counts;
}

TEST(OwnedParts, CoverEveryElementOnceThoughSlicesOverlap) {
  std::vector<OwnedPart> parts =
      divide_all({tensor("w", {place(0, {0, 3}, {0, 4}), place(1, {1, 4}, {2, 6}),
                               place(2, {0, 4}, {0, 6}), place(3, {0, 2}, {3, 6})})});
  EXPECT_EQ(write_counts(parts), std::vector<int>(24, 1));
  std::set<DeviceId> writers;
  for (const OwnedPart& part : parts) writers.insert(part.device);
  EXPECT_EQ(writers.size(), 3u) << "the last has nothing that the others lack";
}

TEST(OwnedParts, OfSlicesOfAnUpdateAreWrittenByTheirOwners) {
  StoredPlaces places;
  for (std::size_t device = 0; device < 5; ++device) {
    places.push_back(place(device, {0, 4}, {0, 6}));
    std::int64_t begin = std::min<std::int64_t>(24, 7 * static_cast<std::int64_t>(device));
    places.back().run = Range{begin, std::min<std::int64_t>(24, begin + 7)};
  }
  std::vector<OwnedPart> parts = divide_all({tensor("w.m", places)});
  EXPECT_EQ(write_counts(parts), std::vector<int>(24, 1));
  for (const OwnedPart& part : parts) EXPECT_EQ(part.region, part.slice);
}

TEST(OwnedParts, OfRanksAreThoseOfTheirDevicesAndTogetherAllOfThem) {
  std::vector<StateEntry> state;
  for (std::size_t at = 0; at < 3; ++at)
    state.push_back(
        tensor("w" + std::to_string(at), {place(0, {0, 3}, {0, 4}), place(1, {1, 4}, {2, 6}),
                                          place(2, {0, 4}, {0, 6}), place(3, {0, 2}, {3, 6})}));
  std::size_t parts = 0;
  for (std::size_t rank = 0; rank < 2; ++rank)
    for (const OwnedPart& part :
         divide_state(state, [&](DeviceId device) { return device.index() / 2 == rank; })) {
      EXPECT_EQ(part.device.index() / 2, rank);
      ++parts;
    }
  EXPECT_EQ(parts, divide_all(state).size());
}

TEST(OwnedParts, OfReplicasGoRoundFromTensorToTensor) {
  std::vector<StateEntry> state;
  StoredPlaces places;
  for (std::size_t device = 0; device < 4; ++device)
    places.push_back(place(device, {0, 4}, {0, 6}));
  for (std::size_t at = 0; at < 8; ++at) state.push_back(tensor("w" + std::to_string(at), places));
  std::map<DeviceId, int> tensors;
  for (const OwnedPart& part : divide_all(state)) ++tensors[part.device];
  EXPECT_EQ(tensors.size(), 4u);
  for (const auto& [device, count] : tensors) EXPECT_EQ(count, 2);
}

TEST(OwnedParts, ThatLeaveSomethingOutAreABug) {
  EXPECT_THROW(divide_all({tensor("w", {place(0, {0, 4}, {0, 5})})}), Bug);
}

}  // namespace
}  // namespace troika
