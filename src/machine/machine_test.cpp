#include "machine/machine.h"

#include <gtest/gtest.h>

namespace troika {
namespace {

TEST(Roofline, TakesTheSlowerOfArithmeticAndMemory) {
  DeviceSpec device{.flops_per_second = 1e9, .bytes_per_second = 1e8};
  EXPECT_EQ(roofline_time(device, Flops{1'000'000}, Bytes{1000}), SimTime{1'000'000});
  EXPECT_EQ(roofline_time(device, Flops{1000}, Bytes{1'000'000}), SimTime{10'000'000});
}

}  // namespace
}  // namespace troika
