#include "comm/threads/thread_transport.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "comm/threads/mailbox.h"

namespace troika {
namespace {

const MessageAddress kAddress{DeviceId(std::size_t{3}), DeviceId(std::size_t{5}), 7};
constexpr std::size_t kLong = Mailbox::kLargestCopy + 1;

class ThreadMessages : public testing::Test {
 protected:
  ThreadTransport transport;
  std::vector<std::byte> sent = std::vector<std::byte>(kLong), buffer = sent;
  std::span<std::byte> short_sent = std::span(sent).first(9);
  std::span<std::byte> short_buffer = std::span(buffer).first(9);
};

TEST_F(ThreadMessages, LongOnesAreReadWhereTheSenderHasThem) {
  auto outgoing = transport.prepare_send(kAddress, sent);
  auto incoming = transport.prepare_receive(kAddress, buffer);
  incoming->start();
  EXPECT_EQ(incoming->arrived(), nullptr);
  outgoing->start();
  EXPECT_FALSE(outgoing->done());
  EXPECT_EQ(incoming->arrived(), sent.data());
  EXPECT_FALSE(outgoing->done());
  incoming->finish();
  EXPECT_TRUE(outgoing->done());
}

TEST_F(ThreadMessages, MayBeSentBeforeTheReceiverIsPrepared) {
  auto outgoing = transport.prepare_send(kAddress, sent);
  outgoing->start();
  auto incoming = transport.prepare_receive(kAddress, buffer);
  incoming->start();
  EXPECT_EQ(incoming->arrived(), sent.data());
}

TEST_F(ThreadMessages, ShortOnesAreDoneAtOnceAndArriveInOrder) {
  auto incoming = transport.prepare_receive(kAddress, short_buffer);
  auto outgoing = transport.prepare_send(kAddress, short_sent);
  for (std::uint32_t round = 0; round < Mailbox::kSlots; ++round) {
    sent[8] = static_cast<std::byte>(round);
    outgoing->start();
    EXPECT_TRUE(outgoing->done());
  }
  sent[8] = static_cast<std::byte>(Mailbox::kSlots);
  outgoing->start();
  EXPECT_FALSE(outgoing->done()) << "no slot is free";
  for (std::uint32_t round = 0; round <= Mailbox::kSlots; ++round) {
    incoming->start();
    std::byte* arrived = incoming->arrived();
    ASSERT_NE(arrived, nullptr);
    EXPECT_EQ(static_cast<std::uint32_t>(arrived[8]), round);
    incoming->finish();
    EXPECT_TRUE(outgoing->done());
  }
}

TEST_F(ThreadMessages, AShortOneOutlivesItsSender) {
  transport.prepare_send(kAddress, short_sent)->start();
  auto incoming = transport.prepare_receive(kAddress, short_buffer);
  incoming->start();
  EXPECT_NE(incoming->arrived(), nullptr);
}

TEST_F(ThreadMessages, ANewPairDoesNotMeetAnOldHalf) {
  auto outgoing = transport.prepare_send(kAddress, sent);
  auto incoming = transport.prepare_receive(kAddress, buffer);
  incoming->start();
  outgoing->start();
  incoming->finish();
  outgoing.reset();
  outgoing = transport.prepare_send(kAddress, sent);
  outgoing->start();
  EXPECT_FALSE(outgoing->done());
  incoming.reset();
  incoming = transport.prepare_receive(kAddress, buffer);
  incoming->start();
  EXPECT_EQ(incoming->arrived(), sent.data());
}

TEST_F(ThreadMessages, LoansGiveTheLendersMemoryHoweverShort) {
  auto lent = transport.prepare_lend(kAddress, short_sent);
  auto borrowed = transport.prepare_borrow(kAddress, short_sent.size());
  auto message = transport.prepare_send(kAddress, sent);  // the same address, another thing
  borrowed->start();
  lent->start();
  EXPECT_EQ(borrowed->arrived(), sent.data());
  borrowed->finish();
  EXPECT_TRUE(lent->done());
}

TEST_F(ThreadMessages, HalvesThatDoNotFitAreBugs) {
  auto outgoing = transport.prepare_send(kAddress, sent);
  EXPECT_THROW(transport.prepare_send(kAddress, sent), Bug);
  EXPECT_THROW(transport.prepare_receive(kAddress, short_buffer), Bug);
}

}  // namespace
}  // namespace troika
