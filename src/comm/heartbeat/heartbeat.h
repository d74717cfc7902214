// Ranks watch each other over TCP, independently of MPI, so that nothing waits for ever: if a rank
// dies, stops, fails or makes another call than its peers, every other rank gets an error that
// names it. heartbeat_core has the rules; this class adds the clock, the sockets and the thread.
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
  SipKey key{};                                     ///< Random, known to this run's ranks only.
  std::vector<std::vector<std::string>> addresses;  ///< Of every rank.
  HeartbeatTimes times{};
  /// If false, no peer is watched. At best the launcher notices a lost one.
  bool watches = true;
  /// Called once when the run has failed, after the neighbours were told, on the heartbeat's
  /// thread.
  std::function<void(const Verdict&)> on_failure{};
};

/// One thread, a few connections, ten small frames a second. Thread-safe.
class Heartbeat {
 public:
  /// Returns when all neighbours have been reached. Throws Error(peer) if one cannot be reached.
  Heartbeat(ListeningPort port, HeartbeatSettings settings);
  /// Says goodbye, unless `leave` has, so that the others do not consider this rank lost.
  ~Heartbeat();

  /// Adds a group; returns its index. All members must call it, and then make the same calls in the
  /// same order; a rank counts a call once, however many of its devices take part. Returns when the
  /// members that this rank watches have been reached.
  int watch(CallGroup group);
  /// Registers a call. The text names everything that must be equal on all ranks: operation, count,
  /// type and so on.
  CallId describe(int group, std::string call);
  /// Count a call. They neither allocate nor wait for a peer.
  void begin(CallId call);
  void end(CallId call);

  /// Throws Error(peer) if the run has failed; otherwise costs one load.
  void check() const {
    if (over_.load(std::memory_order_acquire)) throw_verdict();
  }
  /// Announces that this rank is finished and returns when its neighbours are finished, too. To be
  /// called before MPI is ended: if a neighbour fails meanwhile, this throws Error(peer), whereas
  /// MPI_Finalize would wait for ever.
  void leave();
  /// Reports that this rank has failed, as HeartbeatCore::fail, without waiting.
  void give_up(Verdict own);
  /// The same, but returns after the others were told, with the cause, which may be another rank's.
  Verdict fail(Verdict own);
  /// For signal handlers: the launcher's SIGTERM or MPI's SIGABRT is about to end this rank. If
  /// another rank is the cause, that becomes known within HeartbeatTimes::grace.
  void terminate(int signal) noexcept;
  /// Connections that were dropped because they did not prove the key.
  std::int64_t dropped() const { return dropped_; }

 private:
  struct Connection {
    Socket socket;
    SealedLink link;
    int dialled = -1;  ///< The rank it was opened to; -1: it came from outside.
    int peer = -1;     ///< Once proven.
    SteadyTime opened{};
    WireBytes output{};
    bool dead = false;
    bool replaced = false;  ///< By a later one of the same peer; its end is not reported.
  };

  void wait_until_joined(Lock& lock) TROIKA_REQUIRES(mutex_);
  void run(const std::stop_token& stop);
  void watch_peers(const std::stop_token& stop);
  void wait_for_events(SteadyTime until);
  // Without the mutex, so that a call never waits for unproven connections.
  void serve();
  void accept_all();
  void make_room();
  void serve(Connection& connection);
  void flush(Connection& connection);
  void apply_effects();
  void dial(int rank);
  void send(int rank, const HeartbeatFrame& frame);
  void finish_sending(SteadyTime limit, bool until_closed);
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
  const SteadyTime time_to_prove_;

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
