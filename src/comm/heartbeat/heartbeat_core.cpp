#include "comm/heartbeat/heartbeat_core.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace troika {
namespace {

/// Limit of reports kept per peer: a peer may report groups that this rank does not know (yet).
constexpr std::size_t kReportsKept = 1024;

double seconds(SteadyTime time) { return std::chrono::duration<double>(time).count(); }

std::vector<int> all_ranks(int ranks) {
  std::vector<int> all(ranks);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

std::vector<int> neighbours_of(int rank, const std::vector<int>& members) {
  auto size = static_cast<int>(members.size());
  // In both directions, so that the relation is symmetric: who is watched watches, too.
  auto self = static_cast<int>(std::ranges::lower_bound(members, rank) - members.begin());
  std::set<int> found;
  for (int distance = 1; distance < size; distance *= 2) {
    found.insert(members[(self + distance) % size]);
    found.insert(members[(self - distance + size) % size]);
  }
  found.erase(rank);
  return {found.begin(), found.end()};
}

// Neighbours in the world are watched from the start, before there is any group of calls.
HeartbeatCore::HeartbeatCore(int rank, int ranks, HeartbeatTimes times, SteadyTime now)
    : rank_(rank), times_(times), last_tick_(now) {
  for (int peer : neighbours_of(rank, all_ranks(ranks))) want(peer, now);
  dial();
}

// A call can only wait for members of its group, so neighbours within the group are watched, too.
int HeartbeatCore::watch(CallGroup group, SteadyTime now) {
  std::ranges::sort(group.members);
  auto known =
      std::ranges::find_if(rounds_, [&](const Round& r) { return r.history.group() == group; });
  if (known != rounds_.end()) return static_cast<int>(known - rounds_.begin());
  TROIKA_CHECK(std::ranges::binary_search(group.members, rank_),
               "this rank is not a member of the group");
  for (int peer : neighbours_of(rank_, group.members)) want(peer, now);
  rounds_.push_back({.history = CallHistory(std::move(group))});
  dial();
  return static_cast<int>(rounds_.size()) - 1;
}

CallId HeartbeatCore::describe(int group, std::string call) {
  return {group, rounds_.at(group).history.describe(std::move(call))};
}

void HeartbeatCore::begin(CallId call, SteadyTime now) {
  Round& round = rounds_.at(call.group);
  round.history.begin(call.call);
  round.begun = now;
}

void HeartbeatCore::end(CallId call) { rounds_.at(call.group).history.end(); }

void HeartbeatCore::want(int rank, SteadyTime now) {
  Peer& peer = peers_[rank];
  if (!peer.wanted) peer.since = now;
  peer.wanted = true;
}

void HeartbeatCore::dial() {
  for (auto& [rank, peer] : peers_) {
    bool mine = rank_ < rank;  // one connection per pair
    if (!mine || !peer.wanted || peer.linked || peer.dialling || peer.gone || failed()) continue;
    peer.dialling = true;
    effects_.emplace_back(std::in_place_type<ConnectEffect>, rank);
  }
}

// A peer that links late learns at once that the run has failed, or else how far this rank is.
void HeartbeatCore::linked(int rank, SteadyTime now) {
  Peer& peer = peers_[rank];
  peer.linked = true;
  peer.dialling = false;
  peer.heard = now;
  if (failed()) {
    send(rank, NewsFrame{verdict_});
  } else {
    beat_to(rank);
  }
}

// The next tick dials again, until HeartbeatTimes::join has passed.
void HeartbeatCore::unreachable(int rank) { peers_[rank].dialling = false; }

// The kernel closes the sockets of a killed process, so its death is noticed here at once;
// look_for_silence finds machines that stop without closing.
void HeartbeatCore::closed(int rank, SteadyTime now) {
  Peer& peer = peers_[rank];
  peer.linked = false;
  peer.dialling = false;
  if (peer.gone) return;
  conclude(
      fmt::format("rank {} is lost: its connection with rank {} closed without a goodbye, so it "
                  "was killed or crashed; it was last heard {:.1f} s ago in {}",
                  rank, rank_, seconds(now - peer.heard), last_call_of(peer)));
}

// Any frame is a sign of life.
void HeartbeatCore::received(int rank, const HeartbeatFrame& frame, SteadyTime now) {
  Peer& peer = peers_[rank];
  peer.heard = now;
  if (const auto* alive = std::get_if<AliveFrame>(&frame)) {
    for (const GroupReport& report : alive->groups) {
      bool room = peer.reports.size() < kReportsKept || peer.reports.contains(report.group);
      if (room) peer.reports[report.group] = report;
    }
    look_for_differences();
  } else if (const auto* news = std::get_if<NewsFrame>(&frame)) {
    conclude(news->sentence);
  } else {
    peer.gone = true;
  }
}

void HeartbeatCore::tick(SteadyTime now) {
  // One period late is normal jitter.
  SteadyTime late = now - last_tick_ - 2 * times_.period;
  last_tick_ = now;
  if (late > SteadyTime::zero()) forgive(late, now);
  // After the verdict nothing is watched; `linked` still tells it to late peers.
  if (failed()) return;
  dial();
  beat();
  look_for_differences();
  look_for_silence(now);
  look_for_stalls(now);
  look_at_own_end(now);
}

// If this rank itself was not scheduled (suspended, swapped out), silence and waiting time are its
// own fault: all times move on by the delay, but not beyond now.
void HeartbeatCore::forgive(SteadyTime late, SteadyTime now) {
  auto shift = [&](SteadyTime& moment) { moment = std::min(now, moment + late); };
  for (auto& [rank, peer] : peers_) {
    shift(peer.heard);
    shift(peer.since);
  }
  for (Round& round : rounds_) shift(round.begun);
}

void HeartbeatCore::beat() {
  for (const auto& [rank, peer] : peers_) {
    if (peer.linked) beat_to(rank);
  }
  // With more groups than fit into a frame, each beat reports the next ones in turn.
  first_report_ += kReportsPerFrame;
}

// Only groups that the peer is in: it has nothing to compare the others with.
void HeartbeatCore::beat_to(int rank) {
  std::vector<const Round*> both;
  for (const Round& round : rounds_) {
    if (round.history.has_member(rank)) both.push_back(&round);
  }
  AliveFrame frame;
  for (std::size_t at = 0; at < std::min(both.size(), kReportsPerFrame); ++at) {
    frame.groups.push_back(both[(first_report_ + at) % both.size()]->history.report());
  }
  send(rank, std::move(frame));
}

void HeartbeatCore::send(int rank, HeartbeatFrame frame) {
  effects_.emplace_back(std::in_place_type<SendEffect>, rank, std::move(frame));
}

// Two limits: a peer that was linked may be silent for `silence`, one that never was may take
// `join` to appear.
void HeartbeatCore::look_for_silence(SteadyTime now) {
  for (const auto& [rank, peer] : peers_) {
    if (peer.linked && !peer.gone && now - peer.heard > times_.silence) {
      return conclude(
          fmt::format("rank {} is lost: rank {} has not heard it for {:.1f} s, so it is stopped, "
                      "or its machine or "
                      "the network is; it was last heard in {}",
                      rank, rank_, seconds(now - peer.heard), last_call_of(peer)));
    }
    if (peer.wanted && !peer.linked && !peer.gone && now - peer.since > times_.join) {
      return conclude(fmt::format(
          "rank {} could not be reached by rank {} for {:.1f} s beside MPI; open the ports between "
          "the machines, or give a longer --timeout",
          rank, rank_, seconds(now - peer.since)));
    }
  }
}

// Reports may come from ranks that are ahead or behind; CallHistory compares the common part.
void HeartbeatCore::look_for_differences() {
  for (const Round& round : rounds_) {
    for (const auto& [rank, peer] : peers_) {
      auto report = peer.reports.find(round.history.id());
      if (report == peer.reports.end()) continue;
      if (auto difference = round.history.difference(rank_, rank, report->second)) {
        return conclude(*difference);
      }
    }
  }
}

// Only the calls that this rank is in matter: a peer that is behind, but for which nobody waits,
// may take its time. A peer that has left can never come, so that is reported without delay.
void HeartbeatCore::look_for_stalls(SteadyTime now) {
  for (const Round& round : rounds_) {
    const CallHistory& history = round.history;
    if (!history.inside()) continue;
    for (const auto& [rank, peer] : peers_) {
      if (!history.has_member(rank)) continue;
      auto report = peer.reports.find(history.id());
      std::uint64_t calls = report == peer.reports.end() ? 0 : report->second.calls;
      if (calls >= history.calls()) continue;
      if (peer.gone) {
        return conclude(
            fmt::format("rank {} has left after {} calls of group '{}', but rank {} is "
                        "in {}",
                        rank, calls, history.group().name, rank_, history.last()));
      }
      if (times_.stall > SteadyTime::zero() && now - round.begun > times_.stall) {
        return conclude(fmt::format(
            "rank {} has waited {:.0f} s in {}, to which rank {} has not come: it is alive, in {}",
            rank_, seconds(now - round.begun), history.last(), rank, last_call_of(peer)));
      }
    }
  }
}

void HeartbeatCore::look_at_own_end(SteadyTime now) {
  if (own_end_ && now >= own_end_->at) conclude(own_end_->sentence, own_end_->own);
}

void HeartbeatCore::fail(Verdict own, SteadyTime now) {
  if (own_end_) return;  // the first own reason stands
  // The others are told which rank gave up and where; this rank reports its own cause.
  std::string news = fmt::format("rank {} gave up in {}: {}", rank_, own_call(), own.sentence);
  // Probably a consequence of another rank's failure, whose news gets a moment to arrive.
  if (own.exit_code == static_cast<int>(ErrorKind::peer)) {
    own_end_ = OwnEnd{std::move(news), now + times_.grace};
    return;
  }
  own.sentence += fmt::format(" (rank {} was in {})", rank_, own_call());
  own_end_ = OwnEnd{std::move(news), now, std::move(own)};
  look_at_own_end(now);
}

// Launchers stop the survivors of a lost rank, so the true cause may be about to arrive.
void HeartbeatCore::terminate(const std::string& how, SteadyTime now) {
  if (own_end_) return;
  own_end_ =
      OwnEnd{fmt::format("rank {} {} in {}, and knows of no lost peer", rank_, how, own_call()),
             now + times_.grace};
}

void HeartbeatCore::leave() {
  if (std::exchange(left_, true)) return;
  for (const auto& [rank, peer] : peers_) {
    if (!peer.linked || failed()) continue;
    // The last reports go ahead of the goodbye: a peer that is still in a call learns whether this
    // rank has made it.
    beat_to(rank);
    send(rank, ByeFrame{});
  }
}

bool HeartbeatCore::is_last() const {
  return std::ranges::none_of(
      peers_, [](const auto& entry) { return entry.second.linked && !entry.second.gone; });
}

// A peer that has left need not be reached any more.
bool HeartbeatCore::joined() const {
  return std::ranges::all_of(peers_, [](const auto& entry) {
    return !entry.second.wanted || entry.second.linked || entry.second.gone;
  });
}

// The first verdict stands, and is passed on exactly once to each neighbour, so news does not
// circulate.
void HeartbeatCore::conclude(const std::string& sentence, std::optional<Verdict> own) {
  if (failed()) return;
  verdict_ = sentence;
  for (const auto& [rank, peer] : peers_) {
    if (peer.linked) send(rank, NewsFrame{verdict_});
  }
  if (!own) own = Verdict{fmt::format("{}; rank {} was in {}", verdict_, rank_, own_call())};
  effects_.emplace_back(std::in_place_type<FailEffect>, std::move(*own));
}

std::string HeartbeatCore::own_call() const {
  const Round* latest = nullptr;
  for (const Round& round : rounds_) {
    if (round.history.calls() == 0) continue;
    // A call under way tells more than one that has ended; among equals, the one begun last.
    bool better =
        latest == nullptr || (round.history.inside() && !latest->history.inside()) ||
        (round.history.inside() == latest->history.inside() && round.begun > latest->begun);
    if (better) latest = &round;
  }
  if (latest == nullptr) return "no call yet";
  return latest->history.inside() ? latest->history.last()
                                  : "no call, after " + latest->history.last();
}

std::string HeartbeatCore::last_call_of(const Peer& peer) const {
  std::string text = "no call yet";
  for (const Round& round : rounds_) {
    auto found = peer.reports.find(round.history.id());
    if (found == peer.reports.end() || found->second.calls == 0) continue;
    const GroupReport& report = found->second;
    text = fmt::format("{}call {} of group '{}' ({})", report.inside ? "" : "no call, after ",
                       report.calls, round.history.group().name, report.call);
    if (report.inside) break;
  }
  return text;
}

std::vector<Effect> HeartbeatCore::take_effects() { return std::exchange(effects_, {}); }

}  // namespace troika
