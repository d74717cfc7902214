// Non-blocking TCP sockets: the heartbeat's only access to the network.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm/heartbeat/wire.h"

namespace troika {

/// Owns a file descriptor; move-only.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  int descriptor() const { return descriptor_; }
  bool open() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

/// An open port and the addresses ("10.0.0.7:4711") by which others may reach it.
struct ListeningPort {
  Socket socket;
  std::vector<std::string> addresses;
};

/// Where a rank listens for its peers.
struct ListenOptions {
  bool loopback_only = false;  ///< All peers are on this computer; `interface` is then ignored.
  /// "auto" for every IPv4 interface that is up, the name of one ("ib0"), or the network that its
  /// address is in ("10.1.0.0/16"), for hosts whose interfaces have different names.
  std::string interface = "auto";
  int first_port = 0, last_port = 0;  ///< The first free one of these; 0: the system's choice.
};

/// Throws Error(usage) if there is no such interface, no port of the range is free, or the system
/// refuses.
ListeningPort listen_for_peers(const ListenOptions& options);

/// Begins to connect. Returns a closed socket if that fails at once.
Socket connect_to(const std::string& address);
/// Accepts the next waiting connection, if any.
std::optional<Socket> accept_from(const Socket& listening);

enum class ReadEnd { nothing_more, closed };
/// Appends the bytes that have arrived, until `bytes` holds `longest`.
ReadEnd read_from(const Socket& socket, WireBytes& bytes, std::size_t longest);
/// Writes as much as the system accepts and removes it from `bytes`. Returns false if the
/// connection is gone.
bool write_to(const Socket& socket, WireBytes& bytes);
/// Tells the peer that nothing more will come.
void end_writing(const Socket& socket);

/// From the system's source of randomness.
std::uint64_t random_word();

}  // namespace troika
