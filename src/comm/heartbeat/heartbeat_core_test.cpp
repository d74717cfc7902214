#include "comm/heartbeat/heartbeat_core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <queue>

#include "base/random.h"

namespace troika {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;

/// Ranks joined by a network in virtual time, in which each delivery takes a random while.
class Net {
 public:
  explicit Net(int ranks, HeartbeatTimes times = {}, std::uint64_t seed = 1)
      : times_(times), random_{.key = seed} {
    for (int rank = 0; rank < ranks; ++rank) {
      nodes_.push_back({HeartbeatCore(rank, ranks, times, now_)});
      nodes_.back().next_tick = milliseconds(draw(100));
    }
    for (int rank = 0; rank < ranks; ++rank) apply(rank);
  }

  HeartbeatCore& core(int rank) { return nodes_[rank].core; }
  const std::string& verdict(int rank) const { return nodes_[rank].verdict; }
  Moment now() const { return now_; }
  int connections() const { return connections_; }

  /// No more events, and its peers' connections close.
  void kill(int rank) {
    nodes_[rank].running = false;
    for (std::size_t peer = 0; peer < nodes_.size(); ++peer) {
      if (!nodes_[peer].links.contains(rank)) continue;
      at(
          milliseconds(1 + draw(3)),
          [this, peer, rank] {
            nodes_[peer].links.erase(rank);
            nodes_[peer].core.closed(rank, now_);
          },
          static_cast<int>(peer));
    }
  }
  /// No more events, but nobody is told.
  void stop(int rank) { nodes_[rank].running = false; }
  void go_on(int rank) { nodes_[rank].running = true; }

  void run_for(Moment time) {
    Moment end = now_ + time;
    while (now_ < end) {
      now_ += milliseconds(1);
      deliver();
      for (std::size_t rank = 0; rank < nodes_.size(); ++rank) {
        Node& node = nodes_[rank];
        if (!node.running || now_ < node.next_tick) continue;
        node.core.tick(now_);
        node.next_tick = now_ + times_.period;
        apply(static_cast<int>(rank));
      }
    }
  }
  void apply(int rank) {
    for (const Effect& effect : nodes_[rank].core.take_effects()) {
      if (const auto* connect = std::get_if<ConnectEffect>(&effect)) link(rank, connect->rank);
      if (const auto* send = std::get_if<SendEffect>(&effect)) {
        at(
            milliseconds(1 + draw(5)),
            [this, to = send->rank, rank, frame = send->frame] {
              nodes_[to].core.received(rank, frame, now_);
            },
            send->rank);
      }
      if (const auto* fail = std::get_if<FailEffect>(&effect))
        nodes_[rank].verdict = fail->sentence;
    }
  }

 private:
  struct Node {
    HeartbeatCore core;
    bool running = true;
    Moment next_tick{};
    std::map<int, bool> links{};
    std::string verdict{};
  };
  struct Delivery {
    Moment when;
    std::uint64_t order;
    int rank;
    std::function<void()> event;
    bool operator>(const Delivery& other) const {
      return std::tie(when, order) > std::tie(other.when, other.order);
    }
  };

  void link(int from, int to) {
    ++connections_;
    nodes_[from].links[to] = nodes_[to].links[from] = true;
    at(
        milliseconds(2), [this, from, to] { nodes_[from].core.linked(to, now_); }, from);
    at(
        milliseconds(2), [this, from, to] { nodes_[to].core.linked(from, now_); }, to);
  }
  /// In order between events at the same moment, like bytes on a connection.
  void at(Moment delay, std::function<void()> event, int rank) {
    Moment when = std::max(now_ + delay, nodes_[rank].links.empty() ? now_ : last_[rank]);
    last_[rank] = when;
    deliveries_.push({when, order_++, rank, std::move(event)});
  }
  void deliver() {
    std::vector<Delivery> held;
    while (!deliveries_.empty() && deliveries_.top().when <= now_) {
      Delivery delivery = deliveries_.top();
      deliveries_.pop();
      if (!nodes_[delivery.rank].running) {
        held.push_back(std::move(delivery));
        continue;
      }
      delivery.event();
      apply(delivery.rank);
    }
    for (Delivery& delivery : held) deliveries_.push(std::move(delivery));
  }
  int draw(std::uint64_t below) { return static_cast<int>(random_.below(drawn_++, below)); }

  HeartbeatTimes times_;
  RandomStream random_;
  std::uint64_t drawn_ = 0, order_ = 0;
  Moment now_{};
  int connections_ = 0;
  std::vector<Node> nodes_;
  std::map<int, Moment> last_;
  std::priority_queue<Delivery, std::vector<Delivery>, std::greater<>> deliveries_;
};

std::vector<int> first(int ranks) {
  std::vector<int> members(ranks);
  std::iota(members.begin(), members.end(), 0);
  return members;
}

/// Every rank begins `call` in the group of all.
void begin_everywhere(Net& net, int ranks, const std::string& call) {
  for (int rank = 0; rank < ranks; ++rank) {
    HeartbeatCore& core = net.core(rank);
    core.begin(core.describe(core.watch({"world", first(ranks)}, net.now()), call), net.now());
  }
}

TEST(HeartbeatCore, LetsHealthyRanksRunForEver) {
  Net net(9);
  begin_everywhere(net, 9, "all_reduce of 5 f32");
  net.run_for(milliseconds(30'000));
  for (int rank = 0; rank < 9; ++rank) {
    EXPECT_TRUE(net.core(rank).joined());
    EXPECT_EQ(net.verdict(rank), "");
  }
}

TEST(HeartbeatCore, HasFewNeighboursAndShortWays) {
  for (int ranks : {1, 2, 3, 7, 64, 512}) {
    int most = 0;
    std::vector<int> steps(ranks, -1), open{0};
    steps[0] = 0;
    for (std::size_t at = 0; at < open.size(); ++at) {
      auto near = neighbours_of(open[at], first(ranks));
      most = std::max(most, static_cast<int>(near.size()));
      for (int other : near) {
        auto back = neighbours_of(other, first(ranks));
        EXPECT_TRUE(std::ranges::count(back, open[at])) << "neighbours see each other";
        if (steps[other] >= 0) continue;
        steps[other] = steps[open[at]] + 1;
        open.push_back(other);
      }
    }
    EXPECT_EQ(static_cast<int>(open.size()), ranks);
    EXPECT_LE(most, 18);
    EXPECT_LE(steps[open.back()], 9);
  }
}

class HeartbeatFaults : public testing::TestWithParam<int> {};

TEST_P(HeartbeatFaults, AKilledRankIsNamedByAllOthersWithinASecond) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    int ranks = GetParam();
    Net net(ranks, {}, seed);
    begin_everywhere(net, ranks, "all_reduce of 5 f32");
    net.run_for(milliseconds(500 + static_cast<int>(seed) * 37));
    int victim = static_cast<int>(seed) % ranks;
    net.kill(victim);
    net.run_for(milliseconds(1000));
    for (int rank = 0; rank < ranks; ++rank) {
      if (rank == victim) continue;
      EXPECT_THAT(net.verdict(rank),
                  AllOf(HasSubstr("rank " + std::to_string(victim) + " is lost"),
                        HasSubstr("call 1 of group 'world' (all_reduce of 5 f32)")));
    }
  }
}

TEST_P(HeartbeatFaults, AStoppedRankIsNamedByAllOthersWithinThreeSeconds) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    int ranks = GetParam();
    Net net(ranks, {}, seed);
    begin_everywhere(net, ranks, "all_reduce of 5 f32");
    net.run_for(milliseconds(500 + static_cast<int>(seed) * 37));
    int victim = static_cast<int>(seed) % ranks;
    net.stop(victim);
    net.run_for(milliseconds(1500));
    for (int rank = 0; rank < ranks; ++rank) EXPECT_EQ(net.verdict(rank), "");
    net.run_for(milliseconds(1500));
    for (int rank = 0; rank < ranks; ++rank) {
      if (rank == victim) continue;
      EXPECT_THAT(net.verdict(rank), HasSubstr("rank " + std::to_string(victim) + " is lost"));
    }
    net.go_on(victim);
    net.run_for(milliseconds(500));
    EXPECT_NE(net.verdict(victim), "") << "it learns that the others have given up";
  }
}

TEST_P(HeartbeatFaults, ADifferentCallIsNamedOnAllRanksWithBothSides) {
  int ranks = GetParam();
  for (int odd = 0; odd < ranks; ++odd) {
    Net net(ranks, {}, static_cast<std::uint64_t>(odd) + 1);
    begin_everywhere(net, ranks, "barrier");
    for (int rank = 0; rank < ranks; ++rank) {
      HeartbeatCore& core = net.core(rank);
      int group = core.watch({"world", first(ranks)}, net.now());
      core.begin(core.describe(group, rank == odd ? "sum of 999 f32" : "sum of 1000 f32"),
                 net.now());
    }
    net.run_for(milliseconds(1000));
    for (int rank = 0; rank < ranks; ++rank) {
      EXPECT_THAT(net.verdict(rank),
                  AllOf(HasSubstr("disagree in call 2 of group 'world'"),
                        HasSubstr("rank " + std::to_string(odd) + " calls sum of 999 f32"),
                        HasSubstr("calls sum of 1000 f32")));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, HeartbeatFaults, testing::Values(2, 3, 4, 8, 33));

TEST(HeartbeatCore, FindsADifferenceWhenOneRankIsAheadByManyCalls) {
  Net net(2);
  for (int rank : {0, 1}) {
    HeartbeatCore& core = net.core(rank);
    int group = core.watch({"world", {0, 1}}, net.now());
    CallId a = core.describe(group, "a"), b = core.describe(group, "b");
    for (int round = 0; round < (rank == 0 ? 60 : 20); ++round) core.begin(a, net.now());
    if (rank == 1) core.begin(b, net.now());
  }
  net.run_for(milliseconds(300));
  for (int rank : {0, 1}) {
    EXPECT_THAT(net.verdict(rank), AllOf(HasSubstr("call 21"), HasSubstr("rank 0 calls a"),
                                         HasSubstr("rank 1 calls b")));
  }
}

TEST(HeartbeatCore, FindsADifferenceAmongCallsFasterThanFrames) {
  Net net(2);
  for (int rank : {0, 1}) {
    HeartbeatCore& core = net.core(rank);
    int group = core.watch({"world", {0, 1}}, net.now());
    CallId a = core.describe(group, "a"), b = core.describe(group, "b");
    core.begin(rank == 0 ? a : b, net.now());
  }
  for (int time = 0; time < 800 && net.verdict(0).empty(); ++time) {
    for (int rank : {0, 1}) {
      for (int call = 0; call < 500; ++call) net.core(rank).begin({0, 0}, net.now());
    }
    net.run_for(milliseconds(1));
  }
  EXPECT_THAT(net.verdict(0), HasSubstr("disagree in the calls of group 'world' before number"));
}

TEST(HeartbeatCore, TakesTwoCallsInTheOtherOrderForDifferent) {
  Net net(2);
  for (int rank : {0, 1}) {
    HeartbeatCore& core = net.core(rank);
    int group = core.watch({"world", {0, 1}}, net.now());
    CallId a = core.describe(group, "a"), b = core.describe(group, "b");
    core.begin(rank == 0 ? a : b, net.now());
    core.begin(rank == 0 ? b : a, net.now());
  }
  net.run_for(milliseconds(300));
  EXPECT_THAT(net.verdict(0), HasSubstr("disagree in call 2"));
  EXPECT_THAT(net.verdict(1), HasSubstr("disagree in call 2"));
}

TEST(HeartbeatCore, AllowsARankToBeAheadByOneCall) {
  Net net(2);
  for (int round = 0; round < 5; ++round) {
    for (int rank : {0, 1}) {
      HeartbeatCore& core = net.core(rank);
      int group = core.watch({"world", {0, 1}}, net.now());
      core.begin(core.describe(group, "call " + std::to_string(round)), net.now());
      net.run_for(milliseconds(250));
    }
  }
  EXPECT_EQ(net.verdict(0) + net.verdict(1), "");
}

TEST(HeartbeatCore, WatchesMembersOfAGroupThatAreFarApart) {
  Net net(64);
  net.run_for(milliseconds(100));
  for (int rank : {0, 11, 37}) {
    HeartbeatCore& core = net.core(rank);
    int group = core.watch({"three", {0, 11, 37}}, net.now());
    core.begin(core.describe(group, rank == 37 ? "b" : "a"), net.now());
    net.apply(rank);
  }
  net.run_for(milliseconds(1000));
  for (int rank = 0; rank < 64; ++rank) {
    EXPECT_THAT(net.verdict(rank), HasSubstr("rank 37 calls b")) << rank;
  }
}

TEST(HeartbeatCore, NamesWhoDidNotComeToACall) {
  Net net(3, {.stall = std::chrono::seconds(5)});
  begin_everywhere(net, 3, "a");
  for (int rank : {0, 1}) {
    HeartbeatCore& core = net.core(rank);
    core.begin(core.describe(core.watch({"world", first(3)}, net.now()), "b"), net.now());
  }
  net.run_for(milliseconds(4900));
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(net.verdict(rank), "");
  net.run_for(milliseconds(500));
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_THAT(net.verdict(rank),
                AllOf(HasSubstr("to which rank 2 has not come"), HasSubstr("in call 2"),
                      HasSubstr("it is alive, in call 1 of group 'world' (a)")));
  }
}

TEST(HeartbeatCore, NamesWhoLeftWhileOthersWaitForIt) {
  Net net(3);
  begin_everywhere(net, 3, "a");
  net.run_for(milliseconds(300));
  net.core(2).leave();
  net.apply(2);
  net.kill(2);
  net.run_for(milliseconds(500));
  EXPECT_EQ(net.verdict(0), "") << "all came to the call before one left";
  for (int rank : {0, 1}) {
    HeartbeatCore& core = net.core(rank);
    core.begin(core.describe(core.watch({"world", first(3)}, net.now()), "b"), net.now());
  }
  net.run_for(milliseconds(500));
  for (int rank : {0, 1})
    EXPECT_THAT(net.verdict(rank), HasSubstr("rank 2 has left after 1 calls"));
}

TEST(HeartbeatCore, TellsTheOthersWhyARankGivesUp) {
  Net net(4);
  net.run_for(milliseconds(300));
  net.core(2).fail("its disk is full", net.now());
  net.run_for(milliseconds(700));
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_THAT(net.verdict(rank),
                AllOf(HasSubstr("rank 2 gave up"), HasSubstr("its disk is full")));
  }
}

TEST(HeartbeatCore, PrefersTheTrueCauseToItsConsequences) {
  Net net(4);
  net.run_for(milliseconds(300));
  net.core(0).fail("MPI says something vague", net.now());
  net.core(1).terminate("was told to stop (SIGTERM)", net.now());
  net.kill(3);
  net.run_for(milliseconds(700));
  for (int rank : {0, 1, 2}) EXPECT_THAT(net.verdict(rank), HasSubstr("rank 3 is lost"));
}

TEST(HeartbeatCore, SaysThatItWasToldToStopWhenNothingElseIsKnown) {
  Net net(2);
  net.run_for(milliseconds(300));
  net.core(0).terminate("was told to stop (SIGTERM)", net.now());
  net.run_for(milliseconds(500));
  EXPECT_THAT(net.verdict(0), HasSubstr("rank 0 was told to stop (SIGTERM)"));
}

TEST(HeartbeatCore, BlamesNobodyForItsOwnLateness) {
  HeartbeatCore core(0, 2, {}, Moment::zero());
  core.linked(1, Moment::zero());
  core.tick(milliseconds(100));
  core.tick(milliseconds(60'000));  // the machine slept
  core.tick(milliseconds(60'100));
  EXPECT_FALSE(core.failed());
  for (int time = 60'200; time < 63'000; time += 100) core.tick(milliseconds(time));
  EXPECT_TRUE(core.failed());
}

TEST(HeartbeatCore, SaysWhichPeerCannotBeReached) {
  HeartbeatCore core(0, 2, {.join = std::chrono::seconds(3)}, Moment::zero());
  for (int time = 0; time < 3300; time += 100) {
    core.tick(milliseconds(time));
    for (const Effect& effect : core.take_effects()) {
      if (std::holds_alternative<ConnectEffect>(effect)) core.unreachable(1);
      if (const auto* fail = std::get_if<FailEffect>(&effect)) {
        EXPECT_THAT(fail->sentence, HasSubstr("rank 1 could not be reached by rank 0"));
        EXPECT_GT(time, 3000);
      }
    }
  }
  EXPECT_TRUE(core.failed());
}

}  // namespace
}  // namespace troika
