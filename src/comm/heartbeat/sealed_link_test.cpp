#include "comm/heartbeat/sealed_link.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "comm/heartbeat/frame.h"

namespace troika {
namespace {

constexpr SipKey kKey = {11, 22};

WireBytes bytes_of(std::string_view text) { return WireWriter().text(text, 1000).bytes(); }

struct Pair {
  SealedLink connects, accepts;

  Pair()
      : connects(SealedLink::to(1, {.key = kKey, .rank = 0, .ranks = 3, .nonce = {1, 2}})),
        accepts(SealedLink::from_anybody({.key = kKey, .rank = 1, .ranks = 3, .nonce = {3, 4}})) {}

  bool pass_all() {
    bool good = accepts.receive(connects.take_output());
    good = connects.receive(accepts.take_output()) && good;
    return accepts.receive(connects.take_output()) && good;
  }
};

TEST(SealedLink, JoinsTwoRanksThatKnowTheKey) {
  Pair pair;
  pair.connects.send(bytes_of("hello"));
  pair.accepts.send(bytes_of("you"));
  EXPECT_TRUE(pair.pass_all());
  EXPECT_TRUE(pair.connects.proven() && pair.accepts.proven());
  EXPECT_EQ(pair.accepts.peer(), 0);
  EXPECT_EQ(pair.accepts.next_frame(), bytes_of("hello"));
  EXPECT_EQ(pair.connects.next_frame(), bytes_of("you"));
}

TEST(SealedLink, TakesBytesInAnyPieces) {
  Pair pair;
  pair.connects.send(bytes_of("one"));
  pair.connects.send(bytes_of("two"));
  auto drip = [](SealedLink& to, const WireBytes& bytes) {
    for (std::byte byte : bytes) EXPECT_TRUE(to.receive(std::span(&byte, 1)));
  };
  drip(pair.accepts, pair.connects.take_output());
  drip(pair.connects, pair.accepts.take_output());
  drip(pair.accepts, pair.connects.take_output());
  EXPECT_EQ(pair.accepts.next_frame(), bytes_of("one"));
  EXPECT_EQ(pair.accepts.next_frame(), bytes_of("two"));
  EXPECT_EQ(pair.accepts.next_frame(), std::nullopt);
}

TEST(SealedLink, SaysNothingToAStranger) {
  auto stranger = SealedLink::to(1, {.key = {11, 23}, .rank = 0, .ranks = 3, .nonce = {1, 2}});
  Pair pair;
  EXPECT_FALSE(pair.accepts.receive(stranger.take_output()));
  EXPECT_TRUE(pair.accepts.take_output().empty());
  EXPECT_FALSE(pair.accepts.proven());
}

TEST(SealedLink, IsNotProvenByAGreetingThatWasOverheard) {
  Pair pair;
  pair.connects.send(bytes_of("hello"));
  WireBytes greeting = pair.connects.take_output();
  auto later = SealedLink::from_anybody({.key = kKey, .rank = 1, .ranks = 3, .nonce = {5, 6}});
  ASSERT_TRUE(pair.accepts.receive(greeting));
  ASSERT_TRUE(pair.connects.receive(pair.accepts.take_output()));
  WireBytes frames = pair.connects.take_output();
  ASSERT_TRUE(later.receive(greeting));
  EXPECT_FALSE(later.receive(frames));
  EXPECT_FALSE(later.proven());
}

TEST(SealedLink, TakesNoGreetingMeantForAnotherRankOrFromItself) {
  Pair pair;
  auto other = SealedLink::to(2, {.key = kKey, .rank = 0, .ranks = 3, .nonce = {1, 2}});
  EXPECT_FALSE(pair.accepts.receive(other.take_output()));
  Pair fresh;
  auto itself = SealedLink::to(1, {.key = kKey, .rank = 1, .ranks = 3, .nonce = {1, 2}});
  EXPECT_FALSE(fresh.accepts.receive(itself.take_output()));
}

TEST(SealedLink, NoticesEveryChangedByteAndAFrameSentTwice) {
  for (std::size_t at = 0; at < 2 + 7 + 8; ++at) {
    Pair pair;
    ASSERT_TRUE(pair.pass_all());
    pair.connects.send(bytes_of("hello"));
    WireBytes sealed = pair.connects.take_output();
    ASSERT_EQ(sealed.size(), 2 + 7 + 8u);
    sealed[at] ^= std::byte{0x40};
    bool kept = pair.accepts.receive(sealed);
    EXPECT_FALSE(kept && pair.accepts.next_frame().has_value()) << at;
  }
  Pair pair;
  ASSERT_TRUE(pair.pass_all());
  pair.connects.send(bytes_of("hello"));
  WireBytes sealed = pair.connects.take_output();
  EXPECT_TRUE(pair.accepts.receive(sealed));
  EXPECT_FALSE(pair.accepts.receive(sealed));
}

TEST(SealedLink, IsNeverProvenByNoise) {
  RandomStream random{.key = 5};
  std::uint64_t at = 0;
  for (int attempt = 0; attempt < 20'000; ++attempt) {
    auto link = SealedLink::from_anybody({.key = kKey, .rank = 1, .ranks = 3, .nonce = {3, 4}});
    WireBytes noise(random.below(at++, 120));
    for (std::byte& byte : noise) byte = static_cast<std::byte>(random.word(at++));
    (void)link.receive(noise);
    EXPECT_FALSE(link.proven());
    EXPECT_TRUE(link.take_output().empty());
  }
}

TEST(HeartbeatFrame, ReadsBackWhatWasWritten) {
  for (const HeartbeatFrame& frame :
       {HeartbeatFrame(ByeFrame{}), HeartbeatFrame(NewsFrame{"rank 2 is lost"}),
        HeartbeatFrame(AliveFrame{}),
        HeartbeatFrame(
            AliveFrame{{{.group = 7, .calls = 3, .chain = 9, .inside = true, .call = "sum"},
                        {.group = 8}}})}) {
    EXPECT_EQ(decode(encode(frame)), frame);
  }
}

TEST(HeartbeatFrame, DeclinesWhatIsCutOrHasMore) {
  WireBytes bytes = encode(AliveFrame{{{.group = 7, .calls = 3, .chain = 9, .call = "sum"}}});
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_EQ(decode(std::span(bytes).first(length)), std::nullopt) << length;
  }
  bytes.push_back(std::byte{0});
  EXPECT_EQ(decode(bytes), std::nullopt);
}

TEST(HeartbeatFrame, IsNeverLongerThanALinkTakes) {
  AliveFrame frame;
  frame.groups.assign(100, {.call = std::string(10'000, 'x')});
  EXPECT_LE(encode(frame).size(), kLongestFrame);
  EXPECT_LE(encode(NewsFrame{std::string(100'000, 'x')}).size(), kLongestFrame);
}

TEST(HeartbeatFrame, KeepsControlCharactersOutOfLogs) {
  auto frame = decode(encode(NewsFrame{"a\n\x1b[2Jb"}));
  ASSERT_TRUE(frame);
  EXPECT_EQ(std::get<NewsFrame>(*frame).sentence, "a??[2Jb");
}

}  // namespace
}  // namespace troika
