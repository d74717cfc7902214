#include "base/hash.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace troika {
namespace {

TEST(HashText, IsTheSameOnEveryMachine) {
  EXPECT_EQ(hash_text(""), 0xcbf29ce484222325u);
  EXPECT_EQ(hash_text("a"), 0xaf63dc4c8601ec8cu);  // published FNV-1a vector
}

TEST(Checksum, SeesEveryFlippedBitAndEveryLength) {
  std::vector<std::byte> bytes(37, std::byte{7});
  std::uint64_t whole = checksum(bytes);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      bytes[at] ^= std::byte(1 << bit);
      EXPECT_NE(checksum(bytes), whole) << at;
      bytes[at] ^= std::byte(1 << bit);
    }
    EXPECT_NE(checksum(std::span(bytes).first(at)), whole) << at;
  }
}

}  // namespace
}  // namespace troika
