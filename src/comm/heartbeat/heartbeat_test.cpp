// Ranks as heartbeats of one process, over real sockets on the loopback.
#include "comm/heartbeat/heartbeat.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/random.h"
#include "comm/heartbeat/start_heartbeat.h"

namespace troika {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

/// Whether a connection to the address is accepted within a second.
bool can_be_reached(const std::string& address) {
  Socket socket = connect_to(address);
  if (!socket.open()) return false;
  pollfd wait{socket.descriptor(), POLLOUT, 0};
  int code = 0;
  socklen_t length = sizeof code;
  return poll(&wait, 1, 1000) == 1 &&
         getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &code, &length) == 0 && code == 0;
}

TEST(HeartbeatTimes, ATimeoutIsTheSilenceOfAPeerAndNothingElseEndsARunBefore) {
  HeartbeatTimes slow = heartbeat_times(std::chrono::seconds(90));
  EXPECT_EQ(slow.silence, std::chrono::seconds(90));
  EXPECT_GE(slow.join, slow.silence);
  EXPECT_GT(slow.stall, slow.silence);
  HeartbeatTimes quick = heartbeat_times(milliseconds(1));
  EXPECT_GE(quick.silence, 4 * quick.period) << "a late frame is no lost rank";
  EXPECT_EQ(quick.join, HeartbeatTimes{}.join);
}

TEST(ListenForPeers, TakesTheFirstFreePortOfARange) {
  int first = 0;
  {
    ListeningPort any = listen_for_peers({.loopback_only = true});
    first = std::stoi(any.addresses.at(0).substr(any.addresses.at(0).find(':') + 1));
  }
  ListenOptions range{.loopback_only = true, .first_port = first, .last_port = first + 1};
  if (range.last_port > 65535) GTEST_SKIP() << "the system's port is the last one";
  ListeningPort one = listen_for_peers(range);
  EXPECT_EQ(one.addresses, std::vector{fmt::format("127.0.0.1:{}", first)});
  ListenOptions full{.loopback_only = true, .first_port = first, .last_port = first};
  try {
    listen_for_peers(full);
    ADD_FAILURE() << "a port was opened twice";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_THAT(error.what(), HasSubstr(fmt::format("from {0} to {0}", first)));
  }
}

TEST(ListenForPeers, RefusesAnInterfaceThatIsNotThere) {
  try {
    listen_for_peers({.interface = "no-such-interface"});
    ADD_FAILURE() << "it listens at an interface that does not exist";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("'no-such-interface'"));
  }
  EXPECT_THROW(listen_for_peers({.interface = "203.0.113.7/32"}), Error);
}

TEST(ListenForPeers, BindsToTheInterfaceThatHasTheAddress) {
  std::vector<std::string> all = listen_for_peers({}).addresses;
  if (all.empty()) GTEST_SKIP() << "no interface but the loopback is up";
  std::string address = all.front().substr(0, all.front().find(':'));
  ListeningPort bound = listen_for_peers({.interface = address + "/32"});
  ASSERT_EQ(bound.addresses.size(), 1u);
  EXPECT_THAT(bound.addresses.front(), testing::StartsWith(address + ":"));
  std::string port = bound.addresses.front().substr(address.size());
  EXPECT_FALSE(can_be_reached("127.0.0.1" + port));
  EXPECT_TRUE(can_be_reached(address + port));
}

TEST(Heartbeat, ThatIsOffWatchesNobody) {
  Heartbeat alone({}, {.rank = 1, .ranks = 3, .watches = false});  // peers that do not exist
  CallId call = alone.describe(alone.watch({"world", {0, 1, 2}}), "a");
  alone.begin(call);
  alone.end(call);
  EXPECT_NO_THROW(alone.check());
  EXPECT_NO_THROW(alone.leave());
}

class HeartbeatSockets : public testing::Test {
 protected:
  /// Opens the ports of all ranks and starts the heartbeats of `running` together.
  void start(int ranks, std::vector<int> running, HeartbeatTimes times = {}) {
    std::vector<ListeningPort> ports;
    for (int rank = 0; rank < ranks; ++rank) {
      ports.push_back(listen_for_peers({.loopback_only = true}));
      addresses_.push_back(ports.back().addresses);
    }
    start_at(std::move(ports), running, times);
  }
  void start_at(std::vector<ListeningPort> ports, const std::vector<int>& running,
                HeartbeatTimes times) {
    auto ranks = static_cast<int>(ports.size());
    beats_.resize(ranks);
    errors_.resize(ranks);
    std::vector<std::jthread> starts;
    for (int rank : running) {
      starts.emplace_back([&, rank] {
        try {
          beats_[rank] = std::make_unique<Heartbeat>(std::move(ports[rank]),
                                                     HeartbeatSettings{.rank = rank,
                                                                       .ranks = ranks,
                                                                       .key = {1, 2},
                                                                       .addresses = addresses_,
                                                                       .times = times});
        } catch (const Error& error) {
          errors_[rank] = error.what();
        }
      });
    }
  }
  void start(int ranks) {
    std::vector<int> all;
    for (int rank = 0; rank < ranks; ++rank) all.push_back(rank);
    start(ranks, all);
  }

  std::string verdict(int rank, milliseconds limit) {
    auto end = std::chrono::steady_clock::now() + limit;
    while (std::chrono::steady_clock::now() < end) {
      try {
        beats_[rank]->check();
      } catch (const Error& error) {
        return error.what();
      }
      std::this_thread::sleep_for(milliseconds(1));
    }
    return "";
  }

  std::vector<std::vector<std::string>> addresses_;
  std::vector<std::unique_ptr<Heartbeat>> beats_;
  std::vector<std::string> errors_;
};

TEST_F(HeartbeatSockets, ManyRanksJoinAndLeaveWithoutAWord) {
  start(6);
  for (int rank = 0; rank < 6; ++rank) ASSERT_TRUE(beats_[rank]) << errors_[rank];
  std::this_thread::sleep_for(milliseconds(300));
  for (int rank = 0; rank < 6; ++rank) EXPECT_NO_THROW(beats_[rank]->check());
  beats_[3].reset();
  std::this_thread::sleep_for(milliseconds(200));
  for (int rank : {0, 1, 2, 4, 5}) EXPECT_NO_THROW(beats_[rank]->check());
}

TEST_F(HeartbeatSockets, AMismatchReachesEveryRankWithinASecond) {
  start(4);
  for (int rank = 0; rank < 4; ++rank) {
    ASSERT_TRUE(beats_[rank]) << errors_[rank];
    int group = beats_[rank]->watch({"world", {0, 1, 2, 3}});
    beats_[rank]->begin(beats_[rank]->describe(group, rank == 2 ? "sum of 8 f64" : "sum of 8 f32"));
  }
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_THAT(verdict(rank, milliseconds(1000)), HasSubstr("rank 2 calls sum of 8 f64"));
  }
}

TEST_F(HeartbeatSockets, ARankThatGivesUpTellsTheOthersWhy) {
  start(3);
  Verdict cause = beats_[1]->fail({"its disk is full", 3});
  EXPECT_THAT(cause.sentence, HasSubstr("its disk is full"));
  EXPECT_EQ(cause.exit_code, 3);
  for (int rank : {0, 2}) {
    EXPECT_THAT(verdict(rank, milliseconds(1000)), HasSubstr("rank 1 gave up"));
  }
}

TEST_F(HeartbeatSockets, ARankThatLeavesWaitsForTheOthers) {
  start(3);
  std::atomic<int> left = 0;
  std::vector<std::jthread> leaving;
  for (int rank : {0, 1}) {
    leaving.emplace_back([&, rank] {
      beats_[rank]->leave();
      ++left;
    });
  }
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_EQ(left, 0);
  beats_[2]->leave();
  leaving.clear();
  EXPECT_EQ(left, 2);
}

TEST_F(HeartbeatSockets, ARankThatLeftLearnsThatOthersWaitForIt) {
  start(2);
  for (auto& beat : beats_) beat->describe(beat->watch({"world", {0, 1}}), "sum");
  beats_[0]->begin({0, 0});
  try {
    beats_[1]->leave();
    ADD_FAILURE() << "it left";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("rank 1 has left after 0 calls"));
  }
  EXPECT_THAT(verdict(0, milliseconds(1000)), HasSubstr("rank 1 has left"));
}

TEST_F(HeartbeatSockets, APeerThatNeverAnswersIsNamedAtTheStart) {
  start(2, {0}, {.join = milliseconds(700)});
  EXPECT_THAT(errors_[0], HasSubstr("rank 1 could not be reached"));
}

TEST_F(HeartbeatSockets, TriesTheNextAddressWhereOneDoesNotAnswer) {
  std::vector<ListeningPort> ports;
  for (int rank : {0, 1}) {
    ports.push_back(listen_for_peers({.loopback_only = true}));
    addresses_.push_back({"127.0.0.1:1", "no address", ports[rank].addresses[0]});
  }
  std::vector<std::jthread> starts;
  for (int rank : {0, 1}) {
    starts.emplace_back([&, rank] {
      Heartbeat beat(std::move(ports[rank]), {.rank = rank, .ranks = 2, .addresses = addresses_});
      EXPECT_NO_THROW(beat.check());
    });
  }
}

// Where --timeout says that the network is slow, a peer has longer to prove itself, too.
TEST_F(HeartbeatSockets, ASlowNetworkLeavesMoreTimeToProveTheKey) {
  start(2, {0, 1}, {.silence = std::chrono::seconds(10)});
  ASSERT_TRUE(beats_[0] && beats_[1]);
  Socket silent = connect_to(addresses_[1][0]);
  std::this_thread::sleep_for(milliseconds(1300));
  EXPECT_EQ(beats_[1]->dropped(), 0);
}

/// Connects, says something wrong, and leaves; the answer, if there is one, is an error.
void disturb(const std::string& address, const RandomStream& random, std::uint64_t& at) {
  Socket socket = connect_to(address);
  if (!socket.open()) return;
  WireBytes noise(random.below(at++, 200));
  for (std::byte& byte : noise) byte = static_cast<std::byte>(random.word(at++));
  write_to(socket, noise);
}

// The thread of a heartbeat that throws says so, and its rank is not left without a watch.
TEST_F(HeartbeatSockets, AWatchThatBreaksEndsTheRun) {
  std::string said;
  HeartbeatSettings settings{.rank = 0, .ranks = 2};  // no addresses: nobody could be dialled
  settings.on_failure = [&](const Verdict& verdict) { said = verdict.sentence; };
  std::string thrown;
  try {
    Heartbeat beat(listen_for_peers({.loopback_only = true}), settings);
  } catch (const Error& error) {
    thrown = error.what();
  }
  EXPECT_THAT(thrown, HasSubstr("rank 0 can no longer watch its peers"));
  EXPECT_EQ(said, thrown);
}

/// Holds many connections to a port open without a word, and opens each again that was closed.
class SilentFlood {
 public:
  explicit SilentFlood(std::string address)
      : thread_([this, address = std::move(address)](const std::stop_token& stop) {
          std::vector<Socket> held(300);
          while (!stop.stop_requested()) {
            for (Socket& socket : held) {
              WireBytes ignored;
              if (socket.open() && read_from(socket, ignored, 1) != ReadEnd::closed) continue;
              socket = connect_to(address);
              ++count_;
            }
          }
        }) {}
  int count() const { return count_; }

 private:
  std::atomic<int> count_ = 0;
  std::jthread thread_;
};

TEST_F(HeartbeatSockets, AFloodOfSilentConnectionsShutsNoNeighbourOut) {
  constexpr int kRanks = 3;
  std::vector<ListeningPort> ports;
  for (int rank = 0; rank < kRanks; ++rank) {
    ports.push_back(listen_for_peers({.loopback_only = true}));
    addresses_.push_back(ports.back().addresses);
  }
  SilentFlood flood(addresses_[2][0]);
  while (flood.count() < 300) std::this_thread::yield();
  start_at(std::move(ports), {0, 1, 2}, {.join = std::chrono::seconds(5)});
  for (int rank = 0; rank < kRanks; ++rank) ASSERT_TRUE(beats_[rank]) << errors_[rank];
  int before = flood.count(), calls = 0;
  Heartbeat& flooded = *beats_[2];
  CallId call{};
  {
    std::vector<std::jthread> watching;  // which waits for the others
    for (int rank : {0, 1}) {
      watching.emplace_back([&, rank] { beats_[rank]->watch({"world", {0, 1, 2}}); });
    }
    call = flooded.describe(flooded.watch({"world", {0, 1, 2}}), "a");
  }
  auto longest = milliseconds::zero();
  while (flood.count() < before + 2000) {
    auto start = std::chrono::steady_clock::now();
    flooded.begin(call);
    flooded.end(call);
    ++calls;
    longest = std::max(longest, std::chrono::duration_cast<milliseconds>(
                                    std::chrono::steady_clock::now() - start));
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_GT(calls, 10);
  EXPECT_LT(longest, milliseconds(300)) << "who begins a call does not wait for strangers";
  EXPECT_GT(flooded.dropped(), 1000);
}

TEST_F(HeartbeatSockets, AFloodOfHostileFramesChangesNothing) {
  start(2);
  ASSERT_TRUE(beats_[0] && beats_[1]);
  // Connections that open and go, each with noise, and one that never ends its noise.
  RandomStream random{.key = 3};
  std::uint64_t at = 0;
  for (int attempt = 0; attempt < 2000; ++attempt) disturb(addresses_[1][0], random, at);
  std::int64_t frames = 0;
  while (frames < 100'000) {
    Socket socket = connect_to(addresses_[1][0]);
    bool open = socket.open();
    while (open && frames < 100'000) {
      WireBytes noise(44);
      for (std::byte& byte : noise) byte = static_cast<std::byte>(random.word(at++));
      open = write_to(socket, noise);
      if (noise.empty()) ++frames;  // the system took all of it
    }
  }
  EXPECT_EQ(verdict(0, milliseconds(200)) + verdict(1, milliseconds(200)), "");
  EXPECT_GT(beats_[1]->dropped(), 1000);
  EXPECT_EQ(beats_[0]->dropped(), 0);
}

}  // namespace
}  // namespace troika
