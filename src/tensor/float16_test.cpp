#include "tensor/float16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tensor/dtype.h"

namespace troika {
namespace {

template <class T>
T from_bits(std::uint32_t bits) {
  T value;
  value.bits = static_cast<std::uint16_t>(bits);
  return value;
}

template <class T>
class ShortFloat : public testing::Test {};
using ShortFloats = testing::Types<Float16, BFloat16>;
TYPED_TEST_SUITE(ShortFloat, ShortFloats);

TYPED_TEST(ShortFloat, EveryValueSurvivesTheWayThroughF32) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    auto value = from_bits<TypeParam>(bits);
    if (std::isnan(static_cast<float>(value))) {
      EXPECT_TRUE(std::isnan(static_cast<float>(TypeParam(static_cast<float>(value))))) << bits;
    } else {
      ASSERT_EQ(TypeParam(static_cast<float>(value)).bits, bits);
    }
  }
}

// A value halfway between two neighbours rounds to the even one, any other value to the nearer one.
TYPED_TEST(ShortFloat, RoundsToTheNearestAndTiesToEven) {
  auto infinity = TypeParam(std::numeric_limits<float>::infinity()).bits;
  for (std::uint32_t bits = 0; bits + 1 < infinity; ++bits) {
    auto low = static_cast<float>(from_bits<TypeParam>(bits));
    auto high = static_cast<float>(from_bits<TypeParam>(bits + 1));
    float middle = low + (high - low) / 2;
    ASSERT_EQ(TypeParam(middle).bits, bits % 2 == 0 ? bits : bits + 1);
    ASSERT_EQ(TypeParam(std::nextafter(middle, low)).bits, bits);
    ASSERT_EQ(TypeParam(std::nextafter(middle, high)).bits, bits + 1);
    ASSERT_EQ(TypeParam(-middle).bits, TypeParam(middle).bits | 0x8000u);
  }
}

TEST(Float16, HasTheValuesOfTheStandard) {
  EXPECT_EQ(Float16(1.0F).bits, 0x3c00);
  EXPECT_EQ(Float16(-2.0F).bits, 0xc000);
  EXPECT_EQ(Float16(65504.0F).bits, 0x7bff);
  EXPECT_EQ(Float16(65519.9F).bits, 0x7bff);
  EXPECT_EQ(Float16(65520.0F).bits, 0x7c00);
  EXPECT_EQ(Float16(1e30F).bits, 0x7c00);
  EXPECT_EQ(static_cast<float>(from_bits<Float16>(1)), 0x1p-24F);
  EXPECT_EQ(Float16(1e-10F).bits, 0);
}

TEST(BFloat16, IsTheUpperHalfOfAFloat) {
  EXPECT_EQ(BFloat16(1.0F).bits, 0x3f80);
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(static_cast<float>(from_bits<BFloat16>(0x4049)), 3.140625F);
}

TEST(DType, ShortTypesHaveTwoBytesAndReadBack) {
  for (DType dtype : {DType::f16, DType::bf16}) {
    EXPECT_EQ(size_of(dtype).count, 2);
    EXPECT_EQ(parse_dtype(to_string(dtype)), dtype);
    EXPECT_THROW(dispatch(dtype, []<class T>() {}), Bug);
  }
}

}  // namespace
}  // namespace troika
