#include "train/owned_parts.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"

namespace troika {
namespace {

const TensorSpec kSpec{{4, 6}, DType::i32};

StoredSlice slice_of(const std::string& of, std::size_t device, Range rows, Range columns) {
  return {of + std::to_string(device), of, Region{{rows, columns}}, DeviceId(device)};
}

/// Each tensor holds 0, 1, 2 …. Writes all parts as a checkpoint does and returns how often each
/// element was written.
std::vector<int> write_counts(const std::vector<OwnedPart>& parts) {
  std::vector<std::int32_t> written(24, -1);
  std::vector<int> counts(24);
  for (const OwnedPart& part : parts) {
    std::vector<std::int32_t> slice, own(static_cast<std::size_t>(part.region.elements()));
    for_each_run(kSpec.shape, part.slice.region, [&](std::int64_t offset, std::int64_t length) {
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
  std::vector<StateEntry> entries{{"w", kSpec}};
  std::vector<StoredSlice> storage{
      slice_of("w", 0, {0, 3}, {0, 4}), slice_of("w", 1, {1, 4}, {2, 6}),
      slice_of("w", 2, {0, 4}, {0, 6}), slice_of("w", 3, {0, 2}, {3, 6})};
  std::vector<OwnedPart> parts = divide_state(entries, storage);
  EXPECT_EQ(write_counts(parts), std::vector<int>(24, 1));
  std::set<DeviceId> writers;
  for (const OwnedPart& part : parts) writers.insert(part.slice.device);
  EXPECT_EQ(writers.size(), 3u) << "the last has nothing that the others lack";
}

TEST(OwnedParts, OfReplicasGoRoundFromTensorToTensor) {
  std::vector<StateEntry> entries;
  std::vector<StoredSlice> storage;
  for (std::size_t at = 0; at < 8; ++at) {
    entries.push_back({"w" + std::to_string(at), kSpec});
    for (std::size_t device = 0; device < 4; ++device)
      storage.push_back(slice_of(entries.back().name, device, {0, 4}, {0, 6}));
  }
  std::map<DeviceId, int> tensors;
  for (const OwnedPart& part : divide_state(entries, storage)) ++tensors[part.slice.device];
  EXPECT_EQ(tensors.size(), 4u);
  for (const auto& [device, count] : tensors) EXPECT_EQ(count, 2);
}

TEST(OwnedParts, ThatLeaveSomethingOutAreABug) {
  EXPECT_THROW(divide_state({{"w", kSpec}}, {slice_of("w", 0, {0, 4}, {0, 5})}), Bug);
}

}  // namespace
}  // namespace troika
