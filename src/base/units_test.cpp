#include "base/units.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace troika {
namespace {

TEST(Bytes, PrintWithBinaryUnits) {
  EXPECT_EQ(to_string(Bytes{312}), "312 B");
  EXPECT_EQ(to_string(Bytes{1536 * 1024}), "1.5 MiB");
}

TEST(Bytes, ParseDecimalAndBinaryUnits) {
  EXPECT_EQ(parse_bytes("64MiB").count, 64 << 20);
  EXPECT_EQ(parse_bytes("10 KB").count, 10000);
  EXPECT_EQ(parse_bytes("512").count, 512);
}

TEST(Bytes, RefuseNonsenseByName) {
  for (const char* text : {"", "x", "-1", "1e300", "5 parsecs", "nan"})
    EXPECT_THROW(parse_bytes(text), Error) << text;
}

TEST(Seconds, NeedAUnit) {
  EXPECT_DOUBLE_EQ(parse_seconds("10m"), 600);
  EXPECT_DOUBLE_EQ(parse_seconds("500ms"), 0.5);
  EXPECT_THROW(parse_seconds("10"), Error);
}

TEST(SimTime, PrintsTheNaturalUnit) {
  EXPECT_EQ(to_string(SimTime{950}), "950 ns");
  EXPECT_EQ(to_string(SimTime{12'300'000}), "12.3 ms");
}

}  // namespace
}  // namespace troika
