#include "base/random.h"

#include <gtest/gtest.h>

#include <cmath>

namespace troika {
namespace {

TEST(Philox, MatchesThePublishedVectors) {
  // Known-answer tests of the Random123 distribution.
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (std::array<std::uint32_t, 4>{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
  EXPECT_EQ(
      philox({0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu}, {0xffffffffu, 0xffffffffu}),
      (std::array<std::uint32_t, 4>{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));
}

TEST(RandomStream, NormalHasUnitVariance) {
  RandomStream stream{.key = 1, .stream = 2};
  double sum = 0, squares = 0;
  constexpr int kCount = 100'000;
  for (int i = 0; i < kCount; ++i) {
    double x = stream.normal(i);
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.01);
  EXPECT_NEAR(squares / kCount, 1, 0.02);
}

TEST(RandomStream, BelowCoversItsRangeEvenly) {
  RandomStream stream{.key = 3};
  std::array<int, 5> seen{};
  for (int i = 0; i < 10'000; ++i) ++seen[stream.below(i, 5)];
  for (int count : seen) EXPECT_NEAR(count, 2000, 200);
}

TEST(RandomStream, DiffersByKeyStreamAndStep) {
  RandomStream a{.key = 1, .stream = 1, .step = 1};
  EXPECT_NE(a.word(0), (RandomStream{.key = 2, .stream = 1, .step = 1}.word(0)));
  EXPECT_NE(a.word(0), (RandomStream{.key = 1, .stream = 2, .step = 1}.word(0)));
  EXPECT_NE(a.word(0), (RandomStream{.key = 1, .stream = 1, .step = 2}.word(0)));
}

TEST(RandomStream, FourAtOnceAreTheSameAsOneByOne) {
  RandomStream random{.key = 3, .stream = 5, .step = 7};
  for (std::uint64_t block : {0u, 1u, 77u})
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_EQ(random.uniforms(block)[i], random.uniform(4 * block + i));
}

}  // namespace
}  // namespace troika
