#include "comm/heartbeat/heartbeat.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

namespace troika {
namespace {

// Who has not proven the key by then is dropped; but on slow networks, see --timeout.
constexpr SteadyTime kLeastTimeToProve = std::chrono::seconds(1);
// When more are being heard, the one that has been silent longest is dropped.
constexpr std::ptrdiff_t kMostStrangers = 256;
// Connections accepted before the thread serves its peers again.
constexpr int kMostAtATime = 64;
// A peer that does not read gets no more heartbeats than this.
constexpr std::size_t kMostOutput = 16 * kLongestFrame;
// Bytes read from one connection before the next one gets its turn.
constexpr std::size_t kMostInput = 4 * kLongestFrame;
// Limit of passing a verdict on before this rank acts on it: a peer that does not read must not
// delay the end.
constexpr SteadyTime kTimeToTell = std::chrono::milliseconds(100);
// Limit of waiting at the end until the peers have closed their sides.
constexpr SteadyTime kTimeForGoodbyes = std::chrono::milliseconds(300);

SteadyTime now() { return std::chrono::steady_clock::now().time_since_epoch(); }

const char* reason_of(int signal) {
  return signal == SIGABRT ? "was aborted, by MPI or a bug (SIGABRT)"
                           : "was told to stop (SIGTERM)";
}

}  // namespace

Heartbeat::Heartbeat(ListeningPort port, HeartbeatSettings settings)
    : settings_(std::move(settings)),
      listening_(std::move(port.socket)),
      wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      time_to_prove_(std::max(kLeastTimeToProve, settings_.times.silence / 2)),
      core_(settings_.rank, settings_.watches ? settings_.ranks : 1, settings_.times, now()),
      // The thread is the last member, so it finds all others constructed.
      thread_([this](const std::stop_token& stop) { run(stop); }) {
  Lock lock(mutex_);
  wait_until_joined(lock);
}

// The thread says goodbye when it sees the request; the event wakes it from poll.
Heartbeat::~Heartbeat() {
  thread_.request_stop();
  eventfd_write(wake_.descriptor(), 1);
}

int Heartbeat::watch(CallGroup group) {
  // A group of one has no neighbours: calls are still counted, but compared with nobody.
  if (!settings_.watches) group.members = {settings_.rank};
  Lock lock(mutex_);
  int index = core_.watch(std::move(group), now());
  eventfd_write(wake_.descriptor(), 1);
  wait_until_joined(lock);
  return index;
}

void Heartbeat::wait_until_joined(Lock& lock) {
  while (!core_.joined() && !over_) changed_.wait(lock.native());
  if (over_) throw Error(ErrorKind::peer, verdict_.sentence);
}

CallId Heartbeat::describe(int group, std::string call) {
  Lock lock(mutex_);
  return core_.describe(group, std::move(call));
}

void Heartbeat::begin(CallId call) {
  // Before the count: a call of a failed run would wait for peers that have left.
  check();
  Lock lock(mutex_);
  core_.begin(call, now());
}

void Heartbeat::end(CallId call) {
  Lock lock(mutex_);
  core_.end(call);
}

void Heartbeat::leave() {
  Lock lock(mutex_);
  core_.leave();
  eventfd_write(wake_.descriptor(), 1);
  // The thread notifies after each turn of its loop, so conditions of the core can be waited for.
  while (!core_.is_last() && !over_) changed_.wait(lock.native());
  if (over_) throw Error(ErrorKind::peer, verdict_.sentence);
}

void Heartbeat::give_up(Verdict own) {
  Lock lock(mutex_);
  core_.fail(std::move(own), now());
  eventfd_write(wake_.descriptor(), 1);
}

Verdict Heartbeat::fail(Verdict own) {
  give_up(std::move(own));
  Lock lock(mutex_);
  while (!over_) changed_.wait(lock.native());
  return verdict_;
}

// Only async-signal-safe steps: an atomic store and a write to the eventfd.
void Heartbeat::terminate(int signal) noexcept {
  signal_ = signal;
  eventfd_write(wake_.descriptor(), 1);
}

void Heartbeat::throw_verdict() const {
  Lock lock(mutex_);
  throw Error(ErrorKind::peer, verdict_.sentence);
}

// A rank that cannot watch any longer ends its run, which might otherwise wait for ever.
void Heartbeat::run(const std::stop_token& stop) {
  try {
    watch_peers(stop);
  } catch (const std::exception& failure) {
    end({fmt::format("rank {} can no longer watch its peers: {}", settings_.rank, failure.what())});
  }
}

// One turn of the loop: read without the mutex, tell the core under it, then apply the core's
// effects without it. A caller of begin or end thus never waits for a socket.
void Heartbeat::watch_peers(const std::stop_token& stop) {
  SteadyTime next = now();
  while (!stop.stop_requested()) {
    wait_for_events(next);
    serve();
    {
      Lock lock(mutex_);
      tell_core();
      if (int signal = signal_.exchange(0)) core_.terminate(reason_of(signal), now());
      if (now() >= next) {
        core_.tick(now());
        next = now() + settings_.times.period;
      }
    }
    apply_effects();
    changed_.notify_all();
  }
  {
    Lock lock(mutex_);
    // Does nothing if leave() was called before. Effects are applied so that the goodbyes are sent.
    core_.leave();
  }
  apply_effects();
  finish_sending(kTimeForGoodbyes, true);
}

void Heartbeat::end(Verdict verdict) {
  {
    Lock lock(mutex_);
    // The first verdict is the cause; what follows are its consequences.
    if (over_) return;
    verdict_ = std::move(verdict);
    over_ = true;
  }
  changed_.notify_all();
  // Without the mutex: the callback may end the process and so never return.
  if (settings_.on_failure) settings_.on_failure(verdict_);
}

void Heartbeat::wait_for_events(SteadyTime until) {
  std::vector<pollfd> waits{{wake_.descriptor(), POLLIN, 0}, {listening_.descriptor(), POLLIN, 0}};
  for (const auto& connection : connections_) {
    bool writes = !connection->output.empty();
    waits.push_back({connection->socket.descriptor(),
                     static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN), 0});
  }
  auto left = std::chrono::ceil<std::chrono::milliseconds>(until - now());
  // The results are not looked at: every socket is non-blocking, and serve tries all of them.
  poll(waits.data(), waits.size(), std::max(0, static_cast<int>(left.count())));
  // Resets the event; otherwise the next poll would return at once.
  eventfd_t ignored = 0;
  eventfd_read(wake_.descriptor(), &ignored);
}

void Heartbeat::serve() {
  for (const auto& connection : connections_) {
    serve(*connection);
    // `peer` is set later, in tell_core, so the link is asked too.
    bool is_proven = connection->peer >= 0 || connection->link.proven();
    if (!is_proven && now() - connection->opened > time_to_prove_) connection->dead = true;
  }
  accept_all();
}

void Heartbeat::accept_all() {
  // Bounded, so that a flood of strangers does not keep the thread from its peers.
  for (int count = 0; count < kMostAtATime; ++count) {
    auto socket = accept_from(listening_);
    if (!socket) return;
    make_room();
    connections_.push_back(
        std::make_unique<Connection>(Connection{.socket = std::move(*socket),
                                                .link = SealedLink::from_anybody(link_settings()),
                                                .opened = now()}));
    serve(*connections_.back());
  }
}

/// The oldest stranger goes, since a peer says at once who it is; who has greeted as only a peer
/// can goes last.
void Heartbeat::make_room() {
  Connection *silent = nullptr, *greeted = nullptr;
  std::ptrdiff_t strangers = 0;
  for (const auto& connection : connections_) {  // oldest first
    bool is_stranger = connection->peer < 0 && connection->dialled < 0 && !connection->dead &&
                       !connection->link.proven();
    if (!is_stranger) continue;
    ++strangers;
    Connection*& oldest = connection->link.peer() >= 0 ? greeted : silent;
    if (oldest == nullptr) oldest = connection.get();
  }
  if (strangers >= kMostStrangers) (silent != nullptr ? silent : greeted)->dead = true;
}

void Heartbeat::serve(Connection& connection) {
  flush(connection);
  if (connection.dead) return;
  // Bytes that came before the end of the stream still count: the last ones may be a goodbye.
  WireBytes bytes;
  ReadEnd end = read_from(connection.socket, bytes, kMostInput);
  bool proper = connection.link.receive(bytes);
  flush(connection);
  if (!proper || end == ReadEnd::closed) connection.dead = true;
}

// Frames are delivered before dead connections are reported, so that a goodbye is known when its
// connection closes.
void Heartbeat::tell_core() {
  for (const auto& connection : connections_) {
    if (connection->peer < 0 && connection->link.proven()) prove(*connection);
    if (connection->peer < 0) continue;
    while (auto frame = connection->link.next_frame()) {
      if (auto decoded = decode(*frame)) core_.received(connection->peer, *decoded, now());
    }
  }
  bury();
}

// A peer that connects again replaces its old connection, whose end must not look like its death.
void Heartbeat::prove(Connection& connection) {
  connection.peer = connection.link.peer();
  for (const auto& other : connections_) {
    if (other.get() == &connection || other->peer != connection.peer) continue;
    other->dead = other->replaced = true;
  }
  core_.linked(connection.peer, now());
}

void Heartbeat::flush(Connection& connection) {
  WireBytes more = connection.link.take_output();
  connection.output.insert(connection.output.end(), more.begin(), more.end());
  if (!connection.dead && !write_to(connection.socket, connection.output)) {
    // Frames that the peer sent before it closed the connection are still to be read.
    connection.output.clear();
  }
}

/// Reports the end of each connection to the core, by what it was, and drops it.
void Heartbeat::bury() {
  for (const auto& connection : connections_) {
    if (!connection->dead || connection->replaced) continue;
    if (connection->peer >= 0) {
      core_.closed(connection->peer, now());
    } else if (connection->dialled >= 0) {
      core_.unreachable(connection->dialled);
    } else {
      ++dropped_;
    }
  }
  std::erase_if(connections_, [](const auto& connection) { return connection->dead; });
}

void Heartbeat::apply_effects() {
  std::vector<Effect> effects;
  {
    Lock lock(mutex_);
    effects = core_.take_effects();
  }
  for (Effect& effect : effects) {
    if (const auto* connect = std::get_if<ConnectEffect>(&effect)) {
      dial(connect->rank);
    } else if (const auto* message = std::get_if<SendEffect>(&effect)) {
      send(message->rank, message->frame);
    } else if (auto* failure = std::get_if<FailEffect>(&effect)) {
      // The news leaves before on_failure may end the process.
      finish_sending(kTimeToTell, false);
      end(std::move(failure->verdict));
    }
  }
}

void Heartbeat::dial(int rank) {
  const auto& addresses = settings_.addresses.at(rank);
  Socket socket;
  // Each attempt tries the next address: a computer may have interfaces that this one cannot reach.
  if (!addresses.empty()) socket = connect_to(addresses[dials_[rank]++ % addresses.size()]);
  if (!socket.open()) {
    Lock lock(mutex_);
    return core_.unreachable(rank);
  }
  connections_.push_back(
      std::make_unique<Connection>(Connection{.socket = std::move(socket),
                                              .link = SealedLink::to(rank, link_settings()),
                                              .dialled = rank,
                                              .opened = now()}));
  flush(*connections_.back());  // who is silent may be taken for a stranger
}

void Heartbeat::send(int rank, const HeartbeatFrame& frame) {
  for (const auto& connection : connections_) {
    if (connection->peer != rank) continue;
    // Only heartbeats are dropped, since the next one says the same; news and goodbyes are queued.
    bool room = connection->output.size() < kMostOutput;
    if (room || !std::holds_alternative<AliveFrame>(frame)) connection->link.send(encode(frame));
    flush(*connection);
  }
}

// Writes what is queued. With `until_closed` it then ends the writing side of each connection and
// reads until the peer closes: closing with unread input would send a reset, and the peer could
// lose the goodbye.
void Heartbeat::finish_sending(SteadyTime limit, bool until_closed) {
  SteadyTime end = now() + limit;
  bool told = false;
  while (now() < end && !connections_.empty()) {
    bool sent = true;
    for (const auto& connection : connections_) {
      flush(*connection);
      sent = sent && connection->output.empty();
    }
    if (sent && !until_closed) return;
    if (sent && !told) {
      for (const auto& connection : connections_) end_writing(connection->socket);
      told = true;
    }
    for (const auto& connection : connections_) {
      WireBytes ignored;
      if (read_from(connection->socket, ignored, kMostInput) == ReadEnd::closed) {
        connection->dead = true;
      }
    }
    std::erase_if(connections_, [](const auto& connection) { return connection->dead; });
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

LinkSettings Heartbeat::link_settings() const {
  return {.key = settings_.key,
          .rank = settings_.rank,
          .ranks = settings_.ranks,
          .nonce = {random_word(), random_word()}};
}

}  // namespace troika
