// Random redistributions, run on numbers.
#include <gtest/gtest.h>

#include <map>

#include "lower/testing/random_redistribution.h"

namespace troika {
namespace {

/// Elements of the frame, in any order, as a mask.
std::vector<bool> mask_of(const RedistributionRequest& request, std::span<const Touch> tiles,
                          std::int32_t device) {
  std::vector<bool> mask;
  for (const Touch& tile : tiles) {
    if (tile.device != device) continue;
    const Box& box = request.boxes[tile.box];
    std::array<std::int32_t, 3> at{}, extents{1, 1, 1};
    for (int dim = 0; dim < request.frame.dims; ++dim) extents[dim] = request.frame.extents[dim];
    mask.resize(static_cast<std::size_t>(extents[0]) * extents[1] * extents[2]);
    for (std::size_t element = 0; element < mask.size(); ++element) {
      auto rest = static_cast<std::int32_t>(element);
      bool inside = true;
      for (int dim = 2; dim >= 0; --dim) {
        at[dim] = rest % extents[dim];
        rest /= extents[dim];
        inside = inside && (dim >= request.frame.dims ||
                            (at[dim] >= box.begin[dim] && at[dim] < box.end[dim]));
      }
      if (inside) mask[element] = true;
    }
  }
  return mask;
}

/// Elements that the device lacks of what it reads, over all terms.
std::int64_t count_lacking(const RedistributionRequest& request, std::int32_t device) {
  std::vector<bool> needed = mask_of(request, request.readers[0], device);
  std::int64_t lacking = 0;
  for (const Contribution& from : request.from) {
    for (std::int32_t term = 0; term < from.term_count; ++term) {
      std::vector<Touch> own;
      for (std::size_t tile = 0; tile < from.tiles.size(); ++tile)
        if (from.terms[tile] == term) own.push_back(from.tiles[tile]);
      std::vector<bool> held = mask_of(request, own, device);
      for (std::size_t element = 0; element < needed.size(); ++element)
        lacking += needed[element] && (held.empty() || !held[element]);
    }
  }
  return lacking;
}

TEST(Redistribution, BringsEachElementOfATermToADeviceAtMostOnce) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    RedistributionCase made = random_redistribution(seed);
    made.request.readers.resize(1);
    RedistributionRun done = run(made, redistribute(made.request, made.where()), {.seed = seed});
    for (std::int32_t device = 0; device < std::ssize(done.received); ++device)
      ASSERT_LE(done.received[device], count_lacking(made.request, device))
          << "seed " << seed << " device " << device;
  }
}

TEST(Redistribution, GivesEveryReaderOfRandomSpreadsItsBox) {
  std::map<Collective, int> seen;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    RedistributionCase made = random_redistribution(seed, {.greatest = seed % 5 == 4});
    Redistribution result = redistribute(made.request, made.where());
    ASSERT_EQ(run(made, result, {.seed = seed}).fault, "") << "seed " << seed;
    for (const Message& message : result.messages) ++seen[message.kind];
  }
  for (Collective kind : {Collective::all_reduce, Collective::reduce_scatter,
                          Collective::all_gather, Collective::all_to_all, Collective::broadcast})
    EXPECT_GT(seen[kind], 10) << to_string(kind);
}

TEST(Redistribution, GivesEveryReaderItsBoxInAFixedOrder) {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    RedistributionCase made = random_redistribution(seed, {.fixed_order = true});
    Redistribution result = redistribute(made.request, made.where());
    ASSERT_EQ(run(made, result, {.seed = seed}).fault, "") << "seed " << seed;
  }
}

}  // namespace
}  // namespace troika
