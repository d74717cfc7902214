// Ranks watch each other beside MPI, so that nothing waits for ever: a rank that dies, stops, gives
// up or makes another call than its peers becomes an error on every rank that is left, naming it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/mutex.h"
#include "comm/heartbeat/heartbeat_core.h"
#include "comm/heartbeat/sealed_link.h"
#include "comm/heartbeat/socket.h"

namespace troika {

struct HeartbeatSettings {
  int rank = 0;
  int ranks = 1;
  SipKey key{};                                     ///< The run's, random, known to its ranks only.
  std::vector<std::vector<std::string>> addresses;  ///< Of every rank.
  HeartbeatTimes times{};
  /// False: no peer is watched. A lost one is noticed by the launcher at best.
  bool watches = true;
  /// Called once when the run is over, after the neighbours were told, by a thread of the
  /// heartbeat.
  std::function<void(const Verdict&)> on_failure{};
};

/// One thread, a few connections, ten small frames a second. Thread-safe.
class Heartbeat {
 public:
  /// Returns when all neighbours were reached. Throws Error(peer) when one was not.
  Heartbeat(ListeningPort port, HeartbeatSettings settings);
  /// Says goodbye, unless `leave` has, so that the others do not take this rank for lost.
  ~Heartbeat();

  /// All members make the same calls in the same order; each rank counts a call once, however many
  /// of its devices take part. Returns when the members that this rank watches were reached, which
  /// takes them to call it too.
  int watch(CallGroup group);
  /// `call` says what a rank is going to do: operation, count, type, all that must be equal.
  CallId describe(int group, std::string call);
  /// Neither allocates nor waits for a peer.
  void begin(CallId call);
  void end(CallId call);

  /// Throws Error(peer) when the run is over; costs a load otherwise.
  void check() const {
    if (over_.load(std::memory_order_acquire)) throw_verdict();
  }
  /// This rank has nothing more to do: returns when its neighbours have not, either. Before that
  /// MPI must not be ended: if one of them fails meanwhile, this throws Error(peer), where the end
  /// of MPI would wait in vain.
  void leave();
  /// This rank cannot go on: has the others told, as HeartbeatCore::fail says, and does not wait.
  void give_up(Verdict own);
  /// The same, but returns when they were told: the cause, which may be another rank's.
  Verdict fail(Verdict own);
  /// For signal handlers: this rank is about to end, by the launcher's SIGTERM or MPI's SIGABRT.
  /// The cause, where another rank is it, becomes known within HeartbeatTimes::grace.
  void terminate(int signal) noexcept;
  /// Connections that proved nothing, and were dropped.
  std::int64_t dropped() const { return dropped_; }

 private:
  struct Connection {
    Socket socket;
    SealedLink link;
    int dialled = -1;  ///< The rank it was opened to; -1: it came from outside.
    int peer = -1;     ///< Once proven.
    Moment opened{};
    WireBytes output{};
    bool dead = false;
    bool replaced = false;  ///< By a later one of the same peer: nobody is to hear of its end.
  };

  void wait_until_joined(Lock& lock) TROIKA_REQUIRES(mutex_);
  void run(const std::stop_token& stop);
  void watch_peers(const std::stop_token& stop);
  void wait_for_events(Moment until);
  // Without the mutex, so that a call never waits for strangers, however many come.
  void serve();
  void accept_all();
  void make_room();
  void serve(Connection& connection);
  void flush(Connection& connection);
  void apply_effects();
  void dial(int rank);
  void send(int rank, const Frame& frame);
  void finish_sending(Moment limit, bool until_closed);
  void end(Verdict verdict);
  void tell_core() TROIKA_REQUIRES(mutex_);
  void prove(Connection& connection) TROIKA_REQUIRES(mutex_);
  void bury() TROIKA_REQUIRES(mutex_);
  LinkSettings link_settings() const;
  [[noreturn]] void throw_verdict() const;

  // Constant after construction.
  HeartbeatSettings settings_;
  Socket listening_;
  Socket wake_;
  const Moment time_to_prove_;

  mutable Mutex mutex_;
  std::condition_variable changed_;
  HeartbeatCore core_ TROIKA_GUARDED_BY(mutex_);
  Verdict verdict_;                                       // written before over_, under mutex_
  std::vector<std::unique_ptr<Connection>> connections_;  // the thread's own
  std::map<int, std::size_t> dials_;                      // the thread's own
  std::atomic<bool> over_ = false;
  std::atomic<int> signal_ = 0;  // that ends this rank
  std::atomic<std::int64_t> dropped_ = 0;
  std::jthread thread_;
};

}  // namespace troika
