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

namespace troika {
namespace {

Socket new_socket() {
  return Socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

void send_at_once(const Socket& socket) {
  int on = 1;
  setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

std::string text_of(const in_addr& address, int port) {
  char text[INET_ADDRSTRLEN] = {};
  inet_ntop(AF_INET, &address, text, sizeof text);
  return fmt::format("{}:{}", text, port);
}

std::vector<std::string> addresses_of_interfaces(int port) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {};
  std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, freeifaddrs);
  std::vector<std::string> addresses;
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    bool usable = at->ifa_addr != nullptr && at->ifa_addr->sa_family == AF_INET &&
                  (at->ifa_flags & IFF_UP) != 0 && (at->ifa_flags & IFF_LOOPBACK) == 0;
    if (!usable) continue;
    sockaddr_in address{};
    std::memcpy(&address, at->ifa_addr, sizeof address);
    addresses.push_back(text_of(address.sin_addr, port));
  }
  return addresses;
}

std::optional<sockaddr_in> parse_address(const std::string& text) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  auto colon = text.find(':');
  if (colon == std::string::npos) return std::nullopt;
  std::uint16_t port = 0;
  auto [end, status] = std::from_chars(text.data() + colon + 1, text.data() + text.size(), port);
  bool good = status == std::errc{} && end == text.data() + text.size() &&
              inet_pton(AF_INET, text.substr(0, colon).c_str(), &address.sin_addr) == 1;
  address.sin_port = htons(port);
  return good ? std::optional(address) : std::nullopt;
}

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

Socket::~Socket() {
  if (descriptor_ >= 0) close(descriptor_);
}

ListeningPort listen_for_peers(bool loopback_only) {
  ListeningPort port{.socket = new_socket()};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(loopback_only ? INADDR_LOOPBACK : INADDR_ANY);
  socklen_t length = sizeof address;
  int descriptor = port.socket.descriptor();
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  bool good = port.socket.open() && bind(descriptor, generic, length) == 0 &&
              listen(descriptor, SOMAXCONN) == 0 && getsockname(descriptor, generic, &length) == 0;
  if (!good) {
    throw Error(ErrorKind::usage,
                fmt::format("No TCP port could be opened for the heartbeat between "
                            "ranks: {}.",
                            std::strerror(errno)));
  }
  int number = ntohs(address.sin_port);
  port.addresses = loopback_only ? std::vector{text_of(address.sin_addr, number)}
                                 : addresses_of_interfaces(number);
  return port;
}

Socket connect_to(const std::string& address) {
  auto target = parse_address(address);
  Socket socket = target ? new_socket() : Socket();
  if (!socket.open()) return {};
  send_at_once(socket);
  int status =
      connect(socket.descriptor(), reinterpret_cast<const sockaddr*>(&*target), sizeof *target);
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
  if (count != sizeof word) throw Error(ErrorKind::usage, "The system has no random numbers.");
  return word;
}

}  // namespace troika
