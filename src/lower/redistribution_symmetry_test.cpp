// Devices that do the same, up to where they are, get the same steps in the same order.
#include <gtest/gtest.h>

#include "lower/testing/random_redistribution.h"
#include "lower/testing/redistribution_text.h"

namespace troika {
namespace {

/// Copies of a request side by side: further rows of the tensor on further devices.
struct Copies {
  RedistributionCase made;
  std::int32_t count = 3, devices = 0, rows = 0;

  Copies(const RedistributionCase& one, bool interleaved) {
    devices = static_cast<std::int32_t>(one.process.size());
    rows = one.request.frame.extents[0];
    made = one;
    made.request.boxes.clear();
    made.request.frame.extents[0] *= count;
    // No copy shares a process or node with another.
    for (std::int32_t at = 1; at < count; ++at) {
      for (std::int32_t device = 0; device < devices; ++device) {
        made.process.push_back(one.process[device] + at * devices);
        made.node.push_back(one.node[device] + at * devices);
      }
    }
    for (Contribution& from : made.request.from) {
      std::vector<Touch> tiles = from.tiles;
      from.tiles.clear();
      std::vector<std::int32_t> terms = from.terms;
      from.terms.clear();
      for (auto [tile, copy] : order(tiles.size(), interleaved)) {
        from.tiles.push_back(moved(one, tiles[tile], copy));
        from.terms.push_back(terms[tile]);
      }
    }
    for (std::vector<Touch>& reader : made.request.readers) {
      std::vector<Touch> tiles = std::move(reader);
      reader.clear();
      for (auto [tile, copy] : order(tiles.size(), interleaved))
        reader.push_back(moved(one, tiles[tile], copy));
    }
  }

  std::vector<std::pair<std::size_t, std::int32_t>> order(std::size_t tiles, bool interleaved) {
    std::vector<std::pair<std::size_t, std::int32_t>> all;
    for (std::size_t at = 0; at < tiles * static_cast<std::size_t>(count); ++at) {
      if (interleaved)
        all.emplace_back(at / count, at % count);
      else
        all.emplace_back(at % tiles, at / tiles);
    }
    return all;
  }

  Touch moved(const RedistributionCase& one, Touch tile, std::int32_t copy) {
    Box box = one.request.boxes[tile.box];
    box.begin[0] += copy * rows;
    box.end[0] += copy * rows;
    return {tile.device + copy * devices, made.box(box)};
  }
};

void expect_equal_copies(const Copies& copies, const Redistribution& result) {
  for (std::int32_t device = 0; device < copies.devices; ++device) {
    std::string first = describe(copies.made.request, result, device);
    for (std::int32_t copy = 1; copy < copies.count; ++copy) {
      TextOrigin origin{.device = copy * copies.devices, .begin = copy * copies.rows};
      ASSERT_EQ(first, describe(copies.made.request, result, device + origin.device, origin))
          << "device " << device;
    }
  }
}

TEST(RedistributionSymmetry, CopiesOfARequestDoTheSame) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Copies copies(random_redistribution(seed, {.fixed_order = seed % 7 == 6}), seed % 2 == 0);
    Redistribution result = redistribute(copies.made.request, copies.made.where());
    ASSERT_EQ(run(copies.made, result, {.seed = seed}).fault, "");
    expect_equal_copies(copies, result);
    if (HasFatalFailure()) return;
  }
}

/// A circle of devices, each with two rows.
struct Circle {
  static constexpr std::int32_t kDevices = 6;
  RedistributionCase made = plain_redistribution({2 * kDevices}, kDevices);

  std::int32_t rows(std::int32_t device, std::int32_t begin, std::int32_t end) {
    std::int32_t first = 2 * (device % kDevices);
    return made.box(make_box({{first + begin, first + end}}));
  }

  void expect_equal_devices() {
    Redistribution result = redistribute(made.request, made.where());
    ASSERT_EQ(run(made, result).fault, "");
    ASSERT_FALSE(result.messages.empty());
    std::string first;
    for (std::int32_t device = 0; device < kDevices; ++device) {
      std::string text = describe(
          made.request, result, device,
          {.device = device, .begin = 2 * device, .devices = kDevices, .extent = 2 * kDevices});
      if (device == 0) first = text;
      EXPECT_EQ(text, first) << "device " << device;
    }
  }
};

TEST(RedistributionSymmetry, NeighboursInACircleDoTheSame) {
  Circle circle;
  Contribution from;
  std::vector<Touch> reader;
  for (std::int32_t device = 0; device < Circle::kDevices; ++device) {
    from.tiles.push_back({device, circle.rows(device, 0, 2)});
    from.terms.push_back(0);
    for (std::int32_t far : {2, Circle::kDevices - 1, 1})
      reader.push_back({device, circle.rows(device + far, 0, 1)});
  }
  circle.made.request.from = {from};
  circle.made.request.readers = {reader};
  circle.expect_equal_devices();
}

TEST(RedistributionSymmetry, PartialSumsInACircleDoTheSame) {
  Circle circle;
  Contribution from{.term_count = Circle::kDevices};
  std::vector<Touch> reader;
  for (std::int32_t device = 0; device < Circle::kDevices; ++device) {
    for (std::int32_t part = 0; part < Circle::kDevices; ++part) {
      from.tiles.push_back({device, circle.rows(device + part, 0, 2)});
      from.terms.push_back(device);
    }
    reader.push_back({device, circle.rows(device + 1, 0, 1)});  // not all of it: no collective
  }
  circle.made.request.from = {from};
  circle.made.request.readers = {reader};
  circle.expect_equal_devices();
}

}  // namespace
}  // namespace troika
