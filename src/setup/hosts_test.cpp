#include "setup/hosts.h"

#include <gtest/gtest.h>

#include <numeric>

#include "setup/thread_ranks_test.h"

namespace troika {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

/// Describes a rank that may use `count` cores, the first of which is `first`.
RankHost rank_on(const std::string& name, int first, int count, std::int64_t gibibytes) {
  RankHost host{.cores = std::vector<int>(static_cast<std::size_t>(count)),
                .memory = {gibibytes * kGiB},
                .name = name};
  std::iota(host.cores.begin(), host.cores.end(), first);
  return host;
}

TEST(ShareHosts, GivesTheDevicesOfOneProcessEqualPartsOfItsComputer) {
  HostShares shares = share_hosts({rank_on("a", 0, 8, 64)}, 0, 4);
  EXPECT_EQ(shares.threads, 2);
  EXPECT_EQ(shares.memory, Bytes{16 * kGiB});
  EXPECT_EQ(shares.cores, 8);
  EXPECT_EQ(shares.devices, 4);
}

TEST(ShareHosts, DividesTheCoresThatSeveralRanksMayUse) {
  HostShares shares = share_hosts({rank_on("a", 4, 8, 64), rank_on("a", 4, 8, 60)}, 1, 1);
  EXPECT_EQ(shares.threads, 4);
  EXPECT_EQ(shares.memory, Bytes{30 * kGiB});
  EXPECT_EQ(shares.cores, 8);
  EXPECT_EQ(shares.devices, 2);
}

TEST(ShareHosts, LeavesRanksThatAreBoundTheirCores) {
  HostShares shares = share_hosts({rank_on("a", 0, 3, 64), rank_on("a", 5, 3, 64)}, 0, 1);
  EXPECT_EQ(shares.threads, 3);
  EXPECT_EQ(shares.cores, 6);
}

TEST(ShareHosts, DividesWhereBoundRanksOverlap) {
  HostShares shares = share_hosts({rank_on("a", 0, 4, 64), rank_on("a", 2, 4, 64)}, 0, 1);
  EXPECT_EQ(shares.threads, 3);
  EXPECT_EQ(shares.cores, 6);
}

TEST(ShareHosts, TakesTheLeastOfComputersThatDiffer) {
  std::vector<RankHost> hosts{rank_on("a", 0, 16, 64), rank_on("b", 0, 4, 8),
                              rank_on("a", 0, 16, 64)};
  HostShares shares = share_hosts(hosts, 0, 1);
  EXPECT_EQ(shares.node_of_rank, (std::vector{0, 1, 0}));
  EXPECT_EQ(shares.threads, 4);
  EXPECT_EQ(shares.memory, Bytes{8 * kGiB});
  EXPECT_EQ(shares.cores, 16);
  EXPECT_EQ(shares.devices, 2);
  EXPECT_EQ(share_hosts(hosts, 1, 1).cores, 4);
}

TEST(ShareHosts, ContainersAreNodesThatShareTheirComputer) {
  std::vector<RankHost> hosts{rank_on("a", 0, 1, 64), rank_on("b", 1, 1, 64)};
  hosts[0].computer = hosts[1].computer = "boot";
  HostShares shares = share_hosts(hosts, 0, 1);
  EXPECT_EQ(shares.node_of_rank, (std::vector{0, 1}));
  EXPECT_EQ(shares.computer_of_rank, (std::vector{0, 0}));
  EXPECT_EQ(shares.most_devices, 2);
  EXPECT_EQ(shares.cores, 2);
  EXPECT_EQ(shares.memory, Bytes{32 * kGiB});
  EXPECT_EQ(cores_of_device(shares, 1, 1), (std::vector{1}));
  hosts[1].computer = "another";
  EXPECT_EQ(share_hosts(hosts, 0, 1).most_devices, 1);
}

TEST(ShareHosts, LeavesOneThreadWhereDevicesAreMoreThanCores) {
  EXPECT_EQ(share_hosts({rank_on("a", 0, 2, 8)}, 0, 8).threads, 1);
}

TEST(ShareHosts, DividesTheMemoryOfAControlGroupAmongItsDevices) {
  RankHost first = rank_on("a", 0, 4, 64), second = rank_on("a", 0, 4, 64);
  first.group_memory = second.group_memory = {"0:7", 8 * kGiB};
  // Each process needs 24 MiB for itself.
  constexpr std::int64_t kOwn = 24 << 20;
  EXPECT_EQ(share_hosts({first, second}, 0, 2).memory, Bytes{(8 * kGiB - 2 * kOwn) / 4});
  second.group_memory.group = "0:8";  // one group each, as tasks of a batch system may have
  EXPECT_EQ(share_hosts({first, second}, 0, 2).memory, Bytes{(8 * kGiB - kOwn) / 2});
}

TEST(ShareHosts, TakesNoMoreThreadsThanAQuotaPaysFor) {
  RankHost first = rank_on("a", 0, 16, 64), second = rank_on("a", 0, 16, 64);
  first.group_cores = second.group_cores = {"0:7", 6};
  HostShares shares = share_hosts({first, second}, 0, 1);
  EXPECT_EQ(shares.threads, 3);
  EXPECT_EQ(shares.cores, 6);
  first.group_cores.group = "0:8";
  EXPECT_EQ(share_hosts({first, second}, 0, 1).threads, 6);
  EXPECT_EQ(share_hosts({first, second}, 0, 8).threads, 1);
}

TEST(ShareHosts, TakesNoMoreThreadsThanOmpNumThreadsAllows) {
  RankHost host = rank_on("a", 0, 16, 64);
  host.most_threads = 4;
  EXPECT_EQ(share_hosts({host}, 0, 1).threads, 4);
  EXPECT_EQ(share_hosts({host}, 0, 2).threads, 2);
  EXPECT_EQ(share_hosts({host}, 0, 8).threads, 1);
  host.most_threads = 100;
  EXPECT_EQ(share_hosts({host}, 0, 1).threads, 16);
}

TEST(CoresOfDevice, AreEqualSharesOfThoseOfTheProcess) {
  HostShares shares = share_hosts({rank_on("a", 0, 5, 64)}, 0, 2);
  EXPECT_EQ(cores_of_device(shares, 1, 0), (std::vector{0, 1}));
  EXPECT_EQ(cores_of_device(shares, 2, 1), (std::vector{2, 3}));
  EXPECT_EQ(cores_of_device(shares, 3, 1), std::vector<int>{});  // too few for a team
}

TEST(CoresOfDevice, AreThoseOfOtherRanksForDevicesThatAreNotItsOwn) {
  HostShares bound = share_hosts({rank_on("a", 0, 2, 64), rank_on("a", 4, 2, 64)}, 1, 1);
  EXPECT_EQ(cores_of_device(bound, 2, 0), (std::vector{4, 5}));
  EXPECT_EQ(cores_of_device(bound, 2, 1), (std::vector{0, 1}));
  EXPECT_EQ(cores_of_device(bound, 2, 2), std::vector<int>{});  // another computer has more devices
}

TEST(CoresOfDevice, AreAnyForOtherDevicesIfRanksAreNotBound) {
  HostShares shares = share_hosts({rank_on("a", 0, 4, 64), rank_on("a", 0, 4, 64)}, 0, 1);
  EXPECT_EQ(cores_of_device(shares, 2, 0), (std::vector{0, 1, 2, 3}));
  EXPECT_EQ(cores_of_device(shares, 2, 1), std::vector<int>{});
}

TEST(MeetHosts, HearsWhatEachRankSays) {
  expect_no_failure(run_ranks(2, [](Ranks& own) {
    HostShares alone = meet_hosts(sole_rank(), 2), both = meet_hosts(own, 1);
    EXPECT_EQ(both.node_of_rank, (std::vector{0, 0}));
    EXPECT_EQ(both.cores, alone.cores);
    EXPECT_EQ(both.threads, alone.threads);
    // In a control group the memory in use changes from call to call.
    EXPECT_NEAR(static_cast<double>(both.memory.count), static_cast<double>(alone.memory.count),
                0.05 * static_cast<double>(alone.memory.count));
  }));
}

}  // namespace
}  // namespace troika
