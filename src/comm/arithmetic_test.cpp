#include "comm/arithmetic.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "tensor/float16.h"

namespace troika {
namespace {

template <class T>
std::byte* at(std::vector<T>& values, std::size_t offset = 0) {
  return reinterpret_cast<std::byte*>(values.data() + offset);
}

TEST(Combine, SumsEveryTypeAtAnyLength) {
  auto check = []<class T>(DType dtype, T) {
    for (std::size_t count : {0, 1, 7, 8, 33, 1000}) {
      std::vector<T> a, b;
      for (std::size_t i = 0; i < count; ++i) {
        a.push_back(static_cast<T>(static_cast<float>(i % 9)));
        b.push_back(static_cast<T>(static_cast<float>(i % 5) - 2));
      }
      arithmetic_of(dtype, CombineRule::sum)
          .combine(at(a), at(b), static_cast<std::int64_t>(count));
      for (std::size_t i = 0; i < count; ++i)
        ASSERT_EQ(static_cast<float>(a[i]),
                  static_cast<float>(i % 9) + static_cast<float>(i % 5) - 2);
    }
  };
  check(DType::f32, float{});
  check(DType::f64, double{});
  check(DType::i32, std::int32_t{});
  check(DType::f16, Float16{});
  check(DType::bf16, BFloat16{});
}

TEST(Combine, IntegerSumsWrapAround) {
  std::vector<std::int32_t> a{std::numeric_limits<std::int32_t>::max()}, b{1};
  arithmetic_of(DType::i32, CombineRule::sum).combine(at(a), at(b), 1);
  EXPECT_EQ(a[0], std::numeric_limits<std::int32_t>::min());
}

TEST(Combine, MinimumAndMaximumAreNanOnBothSidesAlike) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (CombineRule rule : {CombineRule::min, CombineRule::max}) {
    std::vector<float> a(17, 1.0F), b(17, nan);
    std::vector<float> c(17, nan), d(17, 1.0F);
    arithmetic_of(DType::f32, rule).combine(at(a), at(b), 17);
    arithmetic_of(DType::f32, rule).combine(at(c), at(d), 17);
    EXPECT_TRUE(std::isnan(a[16]) && std::isnan(c[16]));
  }
  std::vector<float> a{1, 5}, b{3, 2};
  arithmetic_of(DType::f32, CombineRule::min).combine(at(a), at(b), 2);
  EXPECT_EQ(a, (std::vector<float>{1, 2}));
}

TEST(Combine, MinimumAndMaximumOfTheTwoZerosHaveTheSameBitsOnBothSides) {
  auto check = []<class T>(DType dtype, T) {
    for (CombineRule rule : {CombineRule::min, CombineRule::max}) {
      std::vector<T> plus(17, T(0.0F)), minus(17, T(-0.0F));
      std::vector<T> a = plus, b = minus;
      arithmetic_of(dtype, rule).combine(at(a), at(minus), 17);
      arithmetic_of(dtype, rule).combine(at(b), at(plus), 17);
      bool is_negative = rule == CombineRule::min;
      for (const std::vector<T>& result : {a, b})
        for (T value : result)
          EXPECT_EQ(std::signbit(static_cast<float>(value)), is_negative) << to_string(dtype);
    }
  };
  check(DType::f32, float{});
  check(DType::f64, double{});
  check(DType::f16, Float16{});
  check(DType::bf16, BFloat16{});
}

// 1 + 2^-8 + 2^-8 in bf16: rounded at every step it stays 1.
TEST(CombineAll, RoundsAShortSumOnce) {
  std::vector<BFloat16> a(5, BFloat16(1)), b(5, BFloat16(0x1p-8F)), c(5, BFloat16(0x1p-8F));
  std::array<std::byte*, 3> vectors{at(a), at(b), at(c)};
  arithmetic_of(DType::bf16, CombineRule::sum).combine_all(vectors, 5, 1, false);
  for (const auto& vector : {a, b, c})
    for (BFloat16 value : vector) EXPECT_EQ(static_cast<float>(value), 1 + 0x1p-7F);
}

TEST(CombineAll, WritesTheQuotientIntoAllVectorsStreamingOrNot) {
  constexpr std::size_t kCount = 3000, kVectors = 4;
  for (bool streams : {false, true}) {
    for (std::size_t used : {2, 3, 4}) {
      for (std::size_t offset : {0, 1, 3}) {  // streaming stores need alignment that is not there
        std::vector<std::vector<float>> all(kVectors, std::vector<float>(kCount + 4, -1));
        std::vector<std::byte*> vectors;
        for (std::size_t at_vector = 0; at_vector < used; ++at_vector) {
          for (std::size_t i = 0; i < kCount; ++i)
            all[at_vector][offset + i] = static_cast<float>(i * (at_vector + 1));
          vectors.push_back(at(all[at_vector], offset));
        }
        arithmetic_of(DType::f32, CombineRule::mean).combine_all(vectors, kCount, 2, streams);
        for (std::size_t at_vector = 0; at_vector < used; ++at_vector) {
          for (std::size_t i = 0; i < kCount; ++i)
            ASSERT_EQ(all[at_vector][offset + i],
                      static_cast<float>(i * used * (used + 1) / 2) * 0.5F);
          EXPECT_EQ(all[at_vector][offset + kCount], -1);
          if (offset > 0) {
            EXPECT_EQ(all[at_vector][offset - 1], -1);
          }
        }
      }
    }
  }
}

TEST(Divide, CutsIntegersTowardsZero) {
  std::vector<std::int32_t> values{7, -7, 6};
  arithmetic_of(DType::i32, CombineRule::mean).divide(at(values), 3, 3);
  EXPECT_EQ(values, (std::vector<std::int32_t>{2, -2, 2}));
}

TEST(Widening, NarrowsTheQuotientWithOneRounding) {
  std::vector<Float16> narrow{Float16(3), Float16(-0.5F)};
  std::vector<float> wide(2);
  Widening widening = widening_of(DType::f16);
  widening.widen(at(wide), at(narrow), 2);
  EXPECT_EQ(wide, (std::vector<float>{3, -0.5F}));
  wide[0] = 4 + 0x1p-9F;  // halfway between two halves only before the division by 4
  widening.narrow(at(narrow), at(wide), 2, 4);
  EXPECT_EQ(narrow[0], Float16(1 + 0x1p-11F));
  EXPECT_THROW(widening_of(DType::f32), Bug);
}

}  // namespace
}  // namespace troika
