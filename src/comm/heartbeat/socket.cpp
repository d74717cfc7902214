#include "comm/heartbeat/socket.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "base/number_text.h"

namespace troika {
namespace {

Socket new_socket() {
  return Socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

/// Without Nagle's algorithm, which would hold a small frame back until the previous one is
/// acknowledged.
void send_at_once(const Socket& socket) {
  int on = 1;
  setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

std::string text_of(const in_addr& address, int port) {
  char text[INET_ADDRSTRLEN] = {};
  inet_ntop(AF_INET, &address, text, sizeof text);
  return port == 0 ? std::string(text) : fmt::format("{}:{}", text, port);
}

struct Interface {
  std::string name;
  in_addr address{};
};

/// Those that are up, without the loopback.
std::vector<Interface> interfaces_up() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {};
  std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, freeifaddrs);
  std::vector<Interface> found;
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    bool usable = at->ifa_addr != nullptr && at->ifa_addr->sa_family == AF_INET &&
                  (at->ifa_flags & IFF_UP) != 0 && (at->ifa_flags & IFF_LOOPBACK) == 0;
    if (!usable) continue;
    sockaddr_in address{};
    std::memcpy(&address, at->ifa_addr, sizeof address);
    found.push_back({at->ifa_name, address.sin_addr});
  }
  return found;
}

/// True if `network` is a network such as "10.1.0.0/16" and contains the address.
bool is_in_network(const in_addr& address, const std::string& network) {
  std::size_t slash = network.find('/');
  if (slash == std::string::npos) return false;
  in_addr base{};
  int bits = -1;
  std::from_chars(network.data() + slash + 1, network.data() + network.size(), bits);
  if (inet_pton(AF_INET, network.substr(0, slash).c_str(), &base) != 1 || bits < 0 || bits > 32)
    return false;
  // A shift by 32 would be undefined.
  std::uint32_t mask = bits == 0 ? 0 : ~std::uint32_t{0} << (32 - bits);
  return ((ntohl(address.s_addr) ^ ntohl(base.s_addr)) & mask) == 0;
}

/// The addresses to listen at and to be called by.
struct ListeningPlace {
  in_addr bound{};
  std::vector<in_addr> called;
};

ListeningPlace listening_place(const ListenOptions& options) {
  ListeningPlace place;
  if (options.loopback_only) {
    place.bound.s_addr = htonl(INADDR_LOOPBACK);
    place.called = {place.bound};
    return place;
  }
  // "auto" listens at all interfaces and names all their addresses, because only the peers can find
  // out which of them they reach. A chosen interface listens at its own address only.
  place.bound.s_addr = htonl(INADDR_ANY);
  std::vector<std::string> names;
  for (const Interface& found : interfaces_up()) {
    names.push_back(text_of(found.address, 0).append(" on ").append(found.name));
    if (options.interface == "auto" || options.interface == found.name ||
        is_in_network(found.address, options.interface))
      place.called.push_back(found.address);
  }
  if (options.interface == "auto") return place;
  if (place.called.empty())
    throw Error(ErrorKind::usage,
                fmt::format("heartbeat.interface: this computer has no IPv4 interface '{}' that is "
                            "up; it has {}",
                            options.interface, fmt::join(names, ", ")));
  place.bound = place.called.front();
  place.called.resize(1);
  return place;
}

/// The port, once the socket listens at it.
std::optional<int> listen_at(const Socket& socket, const in_addr& place, int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr = place;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  bool good = bind(socket.descriptor(), generic, length) == 0 &&
              listen(socket.descriptor(), SOMAXCONN) == 0 &&
              getsockname(socket.descriptor(), generic, &length) == 0;
  return good ? std::optional<int>(ntohs(address.sin_port)) : std::nullopt;
}

std::optional<sockaddr_in> parse_address(const std::string& text) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  auto colon = text.find(':');
  if (colon == std::string::npos) return std::nullopt;
  auto port = parse_number<std::uint16_t>(std::string_view(text).substr(colon + 1));
  if (!port || inet_pton(AF_INET, text.substr(0, colon).c_str(), &address.sin_addr) != 1)
    return std::nullopt;
  address.sin_port = htons(*port);
  return address;
}

/// An interrupted call counts as well: the next turn of the heartbeat's loop tries again.
bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

Socket::~Socket() {
  if (descriptor_ >= 0) close(descriptor_);
}

ListeningPort listen_for_peers(const ListenOptions& options) {
  ListeningPlace place = listening_place(options);
  int error = EADDRINUSE;
  for (int number = options.first_port; number <= options.last_port; ++number) {
    ListeningPort port{.socket = new_socket()};
    std::optional<int> taken = listen_at(port.socket, place.bound, number);
    if (!taken) {
      error = errno;
      // This port is taken, perhaps by another rank; any other error holds for the whole range.
      if (error == EADDRINUSE) continue;
      break;
    }
    for (const in_addr& address : place.called) port.addresses.push_back(text_of(address, *taken));
    return port;
  }
  std::string range = options.last_port > 0
                          ? fmt::format(" from {} to {}", options.first_port, options.last_port)
                          : std::string();
  throw Error(ErrorKind::usage,
              fmt::format("no TCP port{} could be opened for the heartbeat between ranks: {}",
                          range, std::strerror(error)));
}

Socket connect_to(const std::string& address) {
  auto target = parse_address(address);
  Socket socket = target ? new_socket() : Socket();
  if (!socket.open()) return {};
  send_at_once(socket);
  int status =
      connect(socket.descriptor(), reinterpret_cast<const sockaddr*>(&*target), sizeof *target);
  // A later failure shows as the end of the stream when it is read.
  return status == 0 || errno == EINPROGRESS ? std::move(socket) : Socket();
}

std::optional<Socket> accept_from(const Socket& listening) {
  Socket socket(accept4(listening.descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket.open()) return std::nullopt;
  send_at_once(socket);
  return socket;
}

ReadEnd read_from(const Socket& socket, WireBytes& bytes, std::size_t longest) {
  std::byte part[4096];
  while (bytes.size() < longest) {
    ssize_t count =
        recv(socket.descriptor(), part, std::min(sizeof part, longest - bytes.size()), 0);
    if (count == 0 || (count < 0 && !would_block())) return ReadEnd::closed;
    if (count < 0) break;
    bytes.insert(bytes.end(), part, part + count);
  }
  return ReadEnd::nothing_more;
}

bool write_to(const Socket& socket, WireBytes& bytes) {
  while (!bytes.empty()) {
    // MSG_NOSIGNAL: a lost peer is reported by the return value, not by SIGPIPE.
    ssize_t count = send(socket.descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0) return would_block();
    bytes.erase(bytes.begin(), bytes.begin() + count);
  }
  return true;
}

void end_writing(const Socket& socket) { shutdown(socket.descriptor(), SHUT_WR); }

std::uint64_t random_word() {
  std::uint64_t word = 0;
  ssize_t count = getrandom(&word, sizeof word, 0);
  if (count != sizeof word)
    throw Error(ErrorKind::usage, "the system has no source of random numbers");
  return word;
}

}  // namespace troika
