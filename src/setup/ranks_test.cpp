#include "setup/ranks.h"

#include <gtest/gtest.h>

#include <array>

namespace troika {
namespace {

TEST(SoleRank, IsAGroupOfOne) {
  EXPECT_EQ(sole_rank().rank(), 0);
  EXPECT_EQ(sole_rank().count(), 1);
  EXPECT_TRUE(sole_rank().is_first());
}

TEST(SoleRank, ExchangesWithItself) {
  EXPECT_EQ(sole_rank().exchange("two\nlines"), std::vector<std::string>{"two\nlines"});
  EXPECT_EQ(sole_rank().exchange(""), std::vector<std::string>{""});
  EXPECT_EQ(sole_rank().agree("own"), "own");
  EXPECT_NO_THROW(sole_rank().require_agreement("run", "any text"));
}

TEST(SoleRank, GivesUpWithItsOwnErrorUnchanged) {
  int thrown = 0;
  for (ErrorKind kind : {ErrorKind::usage, ErrorKind::file, ErrorKind::memory}) {
    try {
      sole_rank().give_up(Error(kind, "no such file"));
    } catch (const SharedError& error) {
      ++thrown;
      EXPECT_EQ(error.kind(), kind);
      EXPECT_STREQ(error.what(), "no such file");  // without "rank 0: " in front
    }
  }
  EXPECT_EQ(thrown, 3);
}

TEST(SoleRank, RunsAWatchedBodyOnce) {
  int calls = 0;
  sole_rank().watched("a step", [&] { ++calls; });
  EXPECT_EQ(calls, 1);
}

TEST(SoleRank, JoinsDevicesThatShareMemory) {
  std::unique_ptr<Transport> transport = sole_rank().join({0, 0});
  ASSERT_NE(transport, nullptr);
  EXPECT_TRUE(transport->shares_memory(DeviceId(0u), DeviceId(1u)));
  std::array<std::byte, 2> sent{std::byte{1}, std::byte{2}}, received{};
  MessageAddress address{DeviceId(0u), DeviceId(1u), 7};
  std::unique_ptr<Outgoing> outgoing = transport->prepare_send(address, sent);
  std::unique_ptr<Incoming> incoming = transport->prepare_receive(address, received);
  incoming->start();
  outgoing->start();
  EXPECT_NE(incoming->arrived(), nullptr);
}

}  // namespace
}  // namespace troika
