#include "cost/size_curve.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace troika {
namespace {

// Out of the first cache, out of the last one, and a lucky measurement.
const SizeCurve kCurve =
    rising({{{8}, 100}, {{1024}, 150}, {{4096}, 600}, {{1 << 20}, 90'000}, {{2 << 20}, 80'000}});

TEST(SizeCurve, IsEqualAtItsPoints) {
  for (const SizePoint& point : kCurve.points)
    EXPECT_DOUBLE_EQ(kCurve.at(point.bytes), point.nanoseconds);
}

TEST(SizeCurve, NeverFalls) {
  double before = 0;
  for (std::int64_t bytes = 0; bytes < 8 << 20; bytes += 1 + bytes / 50) {
    double time = kCurve.at({bytes});
    EXPECT_GE(time, before) << bytes;
    before = time;
  }
}

TEST(SizeCurve, MeetsAlphaAndBetaBetweenPoints) {
  SizeCurve line{{{{0}, 100}, {{64}, 228}, {{1 << 20}, 100 + 2 * (1 << 20)}}};
  for (std::int64_t bytes : {1, 63, 65, 1000, 777'777})
    EXPECT_NEAR(line.at({bytes}), 100 + 2 * static_cast<double>(bytes), 1e-6) << bytes;
}

TEST(SizeCurve, KeepsTheFirstTimeBelowAndTheLastRateBeyond) {
  EXPECT_DOUBLE_EQ(kCurve.at({0}), 100);
  EXPECT_DOUBLE_EQ(kCurve.at({8 << 20}), 4 * kCurve.at({2 << 20}));
  EXPECT_DOUBLE_EQ((SizeCurve{{{{0}, 70}}}.at({1 << 20})), 70);
}

TEST(SizeCurve, RaisesALongerVectorThatSeemsQuicker) {
  EXPECT_DOUBLE_EQ(kCurve.at({2 << 20}), 90'000);
  EXPECT_EQ(rising({{{4}, 2}, {{2}, 3}}), (SizeCurve{{{{2}, 3}, {{4}, 3}}}));
}

TEST(SizeCurve, HasNoTimesWithoutPoints) { EXPECT_THROW(SizeCurve{}.at({1}), Bug); }

}  // namespace
}  // namespace troika
