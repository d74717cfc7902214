// The rules of the heartbeat as a state machine without clock, socket or thread: events in, effects
// out. A rank watches a few neighbours and passes what it learns on to them, so that every rank
// knows it after log2(ranks) steps. The first failure ends the run.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "comm/heartbeat/call_history.h"
#include "comm/heartbeat/frame.h"

namespace troika {

/// A time of a steady clock, or the distance between two.
using SteadyTime = std::chrono::nanoseconds;

struct HeartbeatTimes {
  SteadyTime period = std::chrono::milliseconds(100);
  SteadyTime silence =
      std::chrono::milliseconds(2000);  ///< A neighbour unheard for so long is lost.
  SteadyTime stall =
      std::chrono::seconds(60);  ///< A call that lasts so long has failed; zero: never.
  SteadyTime join = std::chrono::seconds(20);  ///< To reach a neighbour for the first time.
  /// How long the true cause may take to become known after this rank fails or is told to stop.
  SteadyTime grace = std::chrono::milliseconds(300);
};

/// Names a call that was described; valid on this rank only.
struct CallId {
  int group = -1;
  int call = -1;
};

/// Open a connection. The caller answers by `linked` or `unreachable`.
struct ConnectEffect {
  int rank;
};
struct SendEffect {
  int rank;
  HeartbeatFrame frame;
};
/// Why the run has failed, and the exit code of this rank.
struct Verdict {
  std::string sentence;
  int exit_code = static_cast<int>(ErrorKind::peer);
};
/// The run has failed. Comes once, after the news for the neighbours.
struct FailEffect {
  Verdict verdict;
};
using Effect = std::variant<ConnectEffect, SendEffect, FailEffect>;

/// The ranks that `rank` watches among `members` (ascending): those at distances 1, 2, 4 ... in the
/// ring. News reaches every rank in at most log2(members) steps, even if some ranks are gone.
std::vector<int> neighbours_of(int rank, const std::vector<int>& members);

class HeartbeatCore {
 public:
  HeartbeatCore(int rank, int ranks, HeartbeatTimes times, SteadyTime now);

  /// Returns the group's index; the same group twice gives the same. Members beyond the neighbours
  /// in the world become neighbours too.
  int watch(CallGroup group, SteadyTime now);
  CallId describe(int group, std::string call);
  void begin(CallId call, SteadyTime now);
  void end(CallId call);

  /// An authenticated connection with `rank` is open; it replaces an earlier one.
  void linked(int rank, SteadyTime now);
  void unreachable(int rank);
  void closed(int rank, SteadyTime now);
  void received(int rank, const HeartbeatFrame& frame, SteadyTime now);
  /// To be called about once per period.
  void tick(SteadyTime now);

  /// This rank has failed. If the exit code is that of a lost peer, that peer may become known
  /// within HeartbeatTimes::grace and is then the cause; any other failure is this rank's own, and
  /// the neighbours are told at once.
  void fail(Verdict own, SteadyTime now);
  /// A signal ends this rank; `how` describes it: "was told to stop".
  void terminate(const std::string& how, SteadyTime now);
  /// This rank is finished. Its neighbours are told once.
  void leave();
  /// Returns true if all neighbours have left, too.
  bool is_last() const;

  /// Returns true if all neighbours have been reached.
  bool joined() const;
  bool failed() const { return !verdict_.empty(); }
  std::vector<Effect> take_effects();

 private:
  struct Peer {
    bool wanted = false;  ///< A neighbour, and not only one that connected.
    bool linked = false;
    bool gone = false;   ///< Said goodbye.
    SteadyTime since{};  ///< Wanted since.
    SteadyTime heard{};
    bool dialling = false;
    std::map<std::uint64_t, GroupReport> reports{};
  };
  struct Round {
    CallHistory history;
    SteadyTime begun{};
  };

  void forgive(SteadyTime late, SteadyTime now);
  void want(int rank, SteadyTime now);
  void dial();
  void beat();
  void beat_to(int rank);
  void send(int rank, HeartbeatFrame frame);
  void look_for_silence(SteadyTime now);
  void look_for_differences();
  void look_for_stalls(SteadyTime now);
  void look_at_own_end(SteadyTime now);
  /// `own` is this rank's verdict on itself, if it differs from what the others are told.
  void conclude(const std::string& sentence, std::optional<Verdict> own = std::nullopt);
  std::string own_call() const;
  std::string last_call_of(const Peer& peer) const;

  int rank_;
  HeartbeatTimes times_;
  SteadyTime last_tick_;
  std::map<int, Peer> peers_;
  std::deque<Round> rounds_;
  std::size_t first_report_ = 0;  // rotates if there are more groups than a frame holds
  struct OwnEnd {
    std::string sentence;
    SteadyTime at{};  ///< When it becomes the verdict.
    std::optional<Verdict> own{};
  };
  std::optional<OwnEnd> own_end_;
  bool left_ = false;
  std::string verdict_;
  std::vector<Effect> effects_;
};

}  // namespace troika
