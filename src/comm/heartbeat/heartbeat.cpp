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
constexpr int kMostAtATime = 64;
// A peer that does not read gets no more heartbeats than this.
constexpr std::size_t kMostOutput = 16 * kLongestFrame;
constexpr std::size_t kMostInput = 4 * kLongestFrame;
constexpr SteadyTime kTimeToTell = std::chrono::milliseconds(100);
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
      thread_([this](const std::stop_token& stop) { run(stop); }) {
  Lock lock(mutex_);
  wait_until_joined(lock);
}

Heartbeat::~Heartbeat() {
  thread_.request_stop();
  eventfd_write(wake_.descriptor(), 1);
}

int Heartbeat::watch(CallGroup group) {
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

void Heartbeat::terminate(int signal) noexcept {
  signal_ = signal;
  eventfd_write(wake_.descriptor(), 1);
}

void Heartbeat::throw_verdict() const {
  Lock lock(mutex_);
  throw Error(ErrorKind::peer, verdict_.sentence);
}

void Heartbeat::run(const std::stop_token& stop) {
  try {
    watch_peers(stop);
  } catch (const std::exception& failure) {
    end({fmt::format("rank {} can no longer watch its peers: {}", settings_.rank, failure.what())});
  }
}

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
    core_.leave();
  }
  apply_effects();
  finish_sending(kTimeForGoodbyes, true);
}

void Heartbeat::end(Verdict verdict) {
  {
    Lock lock(mutex_);
    if (over_) return;
    verdict_ = std::move(verdict);
    over_ = true;
  }
  changed_.notify_all();
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
  poll(waits.data(), waits.size(), std::max(0, static_cast<int>(left.count())));
  eventfd_t ignored = 0;
  eventfd_read(wake_.descriptor(), &ignored);
}

void Heartbeat::serve() {
  for (const auto& connection : connections_) {
    serve(*connection);
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
  WireBytes bytes;
  ReadEnd end = read_from(connection.socket, bytes, kMostInput);
  bool proper = connection.link.receive(bytes);
  flush(connection);
  if (!proper || end == ReadEnd::closed) connection.dead = true;
}

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
    // What the peer said before it went is still to be read.
    connection.output.clear();
  }
}

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
      finish_sending(kTimeToTell, false);
      end(std::move(failure->verdict));
    }
  }
}

void Heartbeat::dial(int rank) {
  const auto& addresses = settings_.addresses.at(rank);
  Socket socket;
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

void Heartbeat::send(int rank, const Frame& frame) {
  for (const auto& connection : connections_) {
    if (connection->peer != rank) continue;
    bool room = connection->output.size() < kMostOutput;
    if (room || !std::holds_alternative<AliveFrame>(frame)) connection->link.send(encode(frame));
    flush(*connection);
  }
}

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
