#include "train/hosts.h"

#include <gtest/gtest.h>

namespace troika {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

HostWord word(const std::string& host, int cores, int online, std::int64_t gibibytes) {
  return {.cores = cores, .online = online, .memory = {gibibytes * kGiB}, .host = host};
}

TEST(ShareHosts, GivesTheDevicesOfOneProcessEqualPartsOfItsComputer) {
  HostShares shares = share_hosts({word("a", 8, 8, 64)}, 0, 4);
  EXPECT_EQ(shares.threads, 2);
  EXPECT_EQ(shares.memory, Bytes{16 * kGiB});
  EXPECT_EQ(shares.cores, 8);
  EXPECT_EQ(shares.devices, 4);
}

TEST(ShareHosts, DividesTheCoresThatSeveralRanksMayUse) {
  HostShares shares = share_hosts({word("a", 8, 8, 64), word("a", 8, 8, 60)}, 1, 1);
  EXPECT_EQ(shares.threads, 4);
  EXPECT_EQ(shares.memory, Bytes{30 * kGiB});
  EXPECT_EQ(shares.cores, 8);
  EXPECT_EQ(shares.devices, 2);
}

TEST(ShareHosts, LeavesRanksThatAreBoundTheirCores) {
  HostShares shares = share_hosts({word("a", 3, 8, 64), word("a", 3, 8, 64)}, 0, 1);
  EXPECT_EQ(shares.threads, 3);
  EXPECT_EQ(shares.cores, 6);
}

TEST(ShareHosts, TakesTheLeastOfComputersThatDiffer) {
  std::vector<HostWord> words{word("a", 16, 16, 64), word("b", 4, 4, 8), word("a", 16, 16, 64)};
  HostShares shares = share_hosts(words, 0, 1);
  EXPECT_EQ(shares.node_of_rank, (std::vector{0, 1, 0}));
  EXPECT_EQ(shares.threads, 4);
  EXPECT_EQ(shares.memory, Bytes{8 * kGiB});
  EXPECT_EQ(shares.cores, 16);
  EXPECT_EQ(shares.devices, 2);
  EXPECT_EQ(share_hosts(words, 1, 1).cores, 4);
}

TEST(ShareHosts, LeavesOneThreadWhereDevicesAreMoreThanCores) {
  EXPECT_EQ(share_hosts({word("a", 2, 2, 8)}, 0, 8).threads, 1);
}

}  // namespace
}  // namespace troika
