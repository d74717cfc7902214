// The rules by which ranks watch each other, without clock, socket or thread: events in, effects
// out. A rank watches its neighbours, which are few; what it learns it passes on, so that every
// rank knows soon. The first bad news ends the run.
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

/// Since any fixed moment; never goes back.
using Moment = std::chrono::nanoseconds;

struct HeartbeatTimes {
  Moment period = std::chrono::milliseconds(100);
  Moment silence = std::chrono::milliseconds(2000);  ///< A neighbour unheard for so long is lost.
  Moment stall = std::chrono::seconds(60);  ///< A call that lasts so long has failed; zero: never.
  Moment join = std::chrono::seconds(20);   ///< To reach a neighbour for the first time.
  /// How long the true cause may take to become known after this rank fails or is told to stop.
  Moment grace = std::chrono::milliseconds(300);
};

/// Names a call that was described; valid on this rank only.
struct CallId {
  int group = -1;
  int call = -1;
};

/// Open a connection; answered by `linked` or `unreachable`.
struct ConnectEffect {
  int rank;
};
struct SendEffect {
  int rank;
  Frame frame;
};
/// Why the run is over, and the exit code that says so.
struct Verdict {
  std::string sentence;
  int exit_code = static_cast<int>(ErrorKind::peer);
};
/// The run is over. Comes once, after the news for the neighbours.
struct FailEffect {
  Verdict verdict;
};
using Effect = std::variant<ConnectEffect, SendEffect, FailEffect>;

/// The ranks that `rank` watches among `members` (ascending): those at distances 1, 2, 4 ... in the
/// ring. News needs at most log2 of their number steps, also when some ranks are gone.
std::vector<int> neighbours_of(int rank, const std::vector<int>& members);

class HeartbeatCore {
 public:
  HeartbeatCore(int rank, int ranks, HeartbeatTimes times, Moment now);

  /// Returns the group's index; the same group twice gives the same. Members beyond the neighbours
  /// in the world become neighbours too.
  int watch(CallGroup group, Moment now);
  CallId describe(int group, std::string call);
  void begin(CallId call, Moment now);
  void end(CallId call);

  /// A proven connection with `rank` is there; it replaces one before.
  void linked(int rank, Moment now);
  void unreachable(int rank);
  void closed(int rank, Moment now);
  void received(int rank, const Frame& frame, Moment now);
  /// To be called about once per period.
  void tick(Moment now);

  /// This rank cannot go on. Where the code is that of a lost peer, the peer may become known
  /// within HeartbeatTimes::grace and is the cause then; any other failure is this rank's own, and
  /// the neighbours hear of it at once.
  void fail(Verdict own, Moment now);
  /// Something outside ends this rank, `how` says what: "was told to stop".
  void terminate(const std::string& how, Moment now);
  /// This rank has nothing more to do. Its neighbours are told once.
  void leave();
  /// Whether all neighbours have left, too.
  bool is_last() const;

  /// Whether all neighbours were reached.
  bool joined() const;
  bool failed() const { return !verdict_.empty(); }
  std::vector<Effect> take_effects();

 private:
  struct Peer {
    bool wanted = false;  ///< A neighbour, and not only one that connected.
    bool linked = false;
    bool gone = false;  ///< Said goodbye.
    Moment since{};     ///< Wanted since.
    Moment heard{};
    bool dialling = false;
    std::map<std::uint64_t, GroupReport> reports{};
  };
  struct Round {
    CallHistory history;
    Moment begun{};
  };

  void forgive(Moment late, Moment now);
  void want(int rank, Moment now);
  void dial();
  void beat();
  void beat_to(int rank);
  void send(int rank, Frame frame);
  void look_for_silence(Moment now);
  void look_for_differences();
  void look_for_stalls(Moment now);
  void look_at_own_end(Moment now);
  /// `own`: what this rank itself says, where it is not what the others hear.
  void conclude(const std::string& sentence, std::optional<Verdict> own = std::nullopt);
  std::string own_call() const;
  std::string last_call_of(const Peer& peer) const;

  int rank_;
  HeartbeatTimes times_;
  Moment last_tick_;
  std::map<int, Peer> peers_;
  std::deque<Round> rounds_;
  std::size_t first_report_ = 0;  // rotates where there are more groups than a frame holds
  struct OwnEnd {
    std::string sentence;
    Moment at{};  ///< When it becomes the verdict.
    std::optional<Verdict> own{};
  };
  std::optional<OwnEnd> own_end_;
  bool left_ = false;
  std::string verdict_;
  std::vector<Effect> effects_;
};

}  // namespace troika
