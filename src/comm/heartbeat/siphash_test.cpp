#include "comm/heartbeat/siphash.h"

#include <gtest/gtest.h>

#include <vector>

namespace troika {
namespace {

std::uint64_t hash_of_first(int count) {
  std::vector<std::byte> bytes;
  for (int at = 0; at < count; ++at) bytes.push_back(static_cast<std::byte>(at));
  return siphash({0x0706050403020100u, 0x0f0e0d0c0b0a0908u}, bytes);
}

// Appendix A of the paper, and the first of the authors' table of vectors.
TEST(SipHash, GivesThePublishedValues) {
  EXPECT_EQ(hash_of_first(15), 0xa129ca6149be45e5u);
  EXPECT_EQ(hash_of_first(0), 0x726fdb47dd0e0e31u);
}

TEST(SipHash, DependsOnTheKeyAndOnEveryByte) {
  std::vector<std::byte> bytes(23);
  std::uint64_t before = siphash({1, 2}, bytes);
  EXPECT_NE(siphash({1, 3}, bytes), before);
  EXPECT_NE(siphash({0, 2}, bytes), before);
  for (std::byte& byte : bytes) {
    byte = std::byte{1};
    EXPECT_NE(siphash({1, 2}, bytes), before);
    byte = std::byte{0};
  }
}

}  // namespace
}  // namespace troika
