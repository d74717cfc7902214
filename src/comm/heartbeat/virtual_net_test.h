// Ranks in virtual time, for the tests of the heartbeat's rules.
#pragma once

#include <functional>
#include <map>
#include <numeric>
#include <queue>
#include <string>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "comm/heartbeat/heartbeat_core.h"

namespace troika {

using std::chrono::milliseconds;

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
  const std::string& verdict(int rank) const { return nodes_[rank].verdict.sentence; }
  int exit_code(int rank) const { return nodes_[rank].verdict.exit_code; }
  SteadyTime now() const { return now_; }
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

  void run_for(SteadyTime time) {
    SteadyTime end = now_ + time;
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
      if (const auto* fail = std::get_if<FailEffect>(&effect)) nodes_[rank].verdict = fail->verdict;
    }
  }

 private:
  struct Node {
    HeartbeatCore core;
    bool running = true;
    SteadyTime next_tick{};
    std::map<int, bool> links{};
    Verdict verdict{"", 0};
  };
  struct Delivery {
    SteadyTime when;
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
  void at(SteadyTime delay, std::function<void()> event, int rank) {
    SteadyTime when = std::max(now_ + delay, nodes_[rank].links.empty() ? now_ : last_[rank]);
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
  SteadyTime now_{};
  int connections_ = 0;
  std::vector<Node> nodes_;
  std::map<int, SteadyTime> last_;
  std::priority_queue<Delivery, std::vector<Delivery>, std::greater<>> deliveries_;
};

inline std::vector<int> first(int ranks) {
  std::vector<int> members(ranks);
  std::iota(members.begin(), members.end(), 0);
  return members;
}

/// Every rank begins `call` in the group of all.
inline void begin_everywhere(Net& net, int ranks, const std::string& call) {
  for (int rank = 0; rank < ranks; ++rank) {
    HeartbeatCore& core = net.core(rank);
    core.begin(core.describe(core.watch({"world", first(ranks)}, net.now()), call), net.now());
  }
}

}  // namespace troika
