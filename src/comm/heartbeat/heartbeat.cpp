#include "comm/heartbeat/heartbeat.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

namespace troika {
namespace {

// Who has not proven the key by then is dropped; who comes while so many are being heard, too.
constexpr Moment kTimeToProve = std::chrono::seconds(1);
constexpr std::size_t kMostStrangers = 64;
// A peer that does not read gets no more heartbeats than this.
constexpr std::size_t kMostOutput = 16 * kLongestFrame;
constexpr std::size_t kMostInput = 4 * kLongestFrame;
constexpr Moment kTimeToTell = std::chrono::milliseconds(100);
constexpr Moment kTimeForGoodbyes = std::chrono::milliseconds(300);

Moment now() { return std::chrono::steady_clock::now().time_since_epoch(); }

const char* reason_of(int signal) {
  return signal == SIGABRT ? "was aborted, by MPI or a bug (SIGABRT)"
                           : "was told to stop (SIGTERM)";
}

}  // namespace

Heartbeat::Heartbeat(ListeningPort port, HeartbeatSettings settings)
    : settings_(std::move(settings)),
      listening_(std::move(port.socket)),
      wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      core_(settings_.rank, settings_.ranks, settings_.times, now()),
      thread_([this](const std::stop_token& stop) { run(stop); }) {
  std::unique_lock lock(mutex_);
  wait_until_joined(lock);
}

Heartbeat::~Heartbeat() {
  thread_.request_stop();
  eventfd_write(wake_.descriptor(), 1);
}

int Heartbeat::watch(CallGroup group) {
  std::unique_lock lock(mutex_);
  int index = core_.watch(std::move(group), now());
  eventfd_write(wake_.descriptor(), 1);
  wait_until_joined(lock);
  return index;
}

void Heartbeat::wait_until_joined(std::unique_lock<std::mutex>& lock) {
  changed_.wait(lock, [&] { return core_.joined() || over_; });
  if (over_) throw Error(ErrorKind::peer, verdict_);
}

CallId Heartbeat::describe(int group, std::string call) {
  std::scoped_lock lock(mutex_);
  return core_.describe(group, std::move(call));
}

void Heartbeat::begin(CallId call) {
  check();
  std::scoped_lock lock(mutex_);
  core_.begin(call, now());
}

void Heartbeat::end(CallId call) {
  std::scoped_lock lock(mutex_);
  core_.end(call);
}

void Heartbeat::leave() {
  std::unique_lock lock(mutex_);
  core_.leave();
  eventfd_write(wake_.descriptor(), 1);
  changed_.wait(lock, [&] { return core_.is_last() || over_; });
  if (over_) throw Error(ErrorKind::peer, verdict_);
}

Error Heartbeat::fail(const std::string& sentence) {
  std::unique_lock lock(mutex_);
  core_.fail(sentence, now());
  changed_.wait(lock, [&] { return over_.load(); });
  return Error(ErrorKind::peer, verdict_);
}

void Heartbeat::terminate(int signal) noexcept {
  signal_ = signal;
  eventfd_write(wake_.descriptor(), 1);
}

void Heartbeat::throw_verdict() const {
  std::scoped_lock lock(mutex_);
  throw Error(ErrorKind::peer, verdict_);
}

void Heartbeat::run(const std::stop_token& stop) {
  Moment next = now();
  while (!stop.stop_requested()) {
    wait_for_events(next);
    std::unique_lock lock(mutex_);
    serve();
    if (int signal = signal_.exchange(0)) core_.terminate(reason_of(signal), now());
    if (now() >= next) {
      core_.tick(now());
      next = now() + settings_.times.period;
    }
    apply_effects();
    bury();
    bool news = over_ && !std::exchange(announced_, true);
    if (news) finish_sending(kTimeToTell, false);
    changed_.notify_all();
    lock.unlock();
    if (news && settings_.on_failure) settings_.on_failure(Error(ErrorKind::peer, verdict_));
  }
  std::scoped_lock lock(mutex_);
  core_.leave();
  apply_effects();
  finish_sending(kTimeForGoodbyes, true);
}

void Heartbeat::wait_for_events(Moment until) {
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
  accept_all();
  for (const auto& connection : connections_) {
    flush(*connection);
    serve(*connection);
    bool stranger = connection->peer < 0;
    if (stranger && now() - connection->opened > kTimeToProve) connection->dead = true;
  }
}

void Heartbeat::accept_all() {
  // Bounded, so that a flood of strangers does not keep the thread from its peers.
  for (std::size_t count = 0; count < kMostStrangers; ++count) {
    auto socket = accept_from(listening_);
    if (!socket) return;
    auto strangers = std::ranges::count_if(connections_, [](const auto& c) { return c->peer < 0; });
    if (strangers >= static_cast<std::ptrdiff_t>(kMostStrangers)) {
      ++dropped_;
      continue;
    }
    connections_.push_back(
        std::make_unique<Connection>(Connection{.socket = std::move(*socket),
                                                .link = SealedLink::from_anybody(link_settings()),
                                                .opened = now()}));
  }
}

void Heartbeat::serve(Connection& connection) {
  if (connection.dead) return;
  WireBytes bytes;
  ReadEnd end = read_from(connection.socket, bytes, kMostInput);
  bool proper = connection.link.receive(bytes);
  if (proper && connection.peer < 0 && connection.link.proven()) prove(connection);
  flush(connection);
  if (connection.peer >= 0) {
    while (auto frame = connection.link.next_frame()) {
      if (auto decoded = decode(*frame)) core_.received(connection.peer, *decoded, now());
    }
  }
  if (!proper || end == ReadEnd::closed) connection.dead = true;
}

void Heartbeat::prove(Connection& connection) {
  connection.peer = connection.link.peer();
  for (const auto& other : connections_) {
    if (other.get() == &connection || other->peer != connection.peer) continue;
    other->dead = true;
    other->peer = -1;
    other->dialled = -1;
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
    if (!connection->dead) continue;
    if (connection->peer >= 0) {
      core_.closed(connection->peer, now());
    } else if (connection->dialled >= 0) {
      core_.unreachable(connection->dialled);
    } else {
      ++dropped_;
    }
  }
  std::erase_if(connections_, [](const auto& connection) { return connection->dead; });
  apply_effects();
}

void Heartbeat::apply_effects() {
  for (const Effect& effect : core_.take_effects()) {
    if (const auto* connect = std::get_if<ConnectEffect>(&effect)) {
      dial(connect->rank);
    } else if (const auto* message = std::get_if<SendEffect>(&effect)) {
      send(message->rank, message->frame);
    } else if (const auto* end = std::get_if<FailEffect>(&effect)) {
      verdict_ = end->sentence;
      over_ = true;
    }
  }
}

void Heartbeat::dial(int rank) {
  const auto& addresses = settings_.addresses.at(rank);
  Socket socket;
  if (!addresses.empty()) socket = connect_to(addresses[dials_[rank]++ % addresses.size()]);
  if (!socket.open()) return core_.unreachable(rank);
  connections_.push_back(
      std::make_unique<Connection>(Connection{.socket = std::move(socket),
                                              .link = SealedLink::to(rank, link_settings()),
                                              .dialled = rank,
                                              .opened = now()}));
}

void Heartbeat::send(int rank, const Frame& frame) {
  for (const auto& connection : connections_) {
    if (connection->peer != rank) continue;
    bool room = connection->output.size() < kMostOutput;
    if (room || !std::holds_alternative<AliveFrame>(frame)) connection->link.send(encode(frame));
    flush(*connection);
  }
}

void Heartbeat::finish_sending(Moment limit, bool until_closed) {
  Moment end = now() + limit;
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
