// An authenticated stream of frames between two ranks: both sides prove that they know the run's
// key, and every frame carries a message authentication code. No socket: bytes in, bytes out.
//
// It protects against accidents and other users of the cluster, not against anyone who can already
// connect to MPI. One frame ends a job of hundreds of nodes ("rank 3 is lost"), and the listening
// ports are plain TCP, to which scanners, monitoring and stray ranks of another job connect.
//
// The connecting side sends a greeting (the two ranks, a nonce, a proof), the other side answers
// with a nonce and a proof over both nonces; keys for both directions are derived from the nonces.
// A side that does not prove the key gets no answer.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "comm/heartbeat/siphash.h"
#include "comm/heartbeat/wire.h"

namespace troika {

/// Random and different for every link.
using Nonce = std::array<std::uint64_t, 2>;

struct LinkSettings {
  SipKey key{};
  int rank = 0;
  int ranks = 1;
  Nonce nonce{};
};

class SealedLink {
 public:
  /// The side that connects to `peer`.
  static SealedLink to(int peer, const LinkSettings& settings);
  /// The side that accepted a connection, from a peer yet unknown.
  static SealedLink from_anybody(const LinkSettings& settings);

  /// Returns false if the other side does not prove the key or violates the format: close the
  /// connection.
  [[nodiscard]] bool receive(std::span<const std::byte> bytes);
  /// Returns true if the other side has proven that it is rank peer(), in this connection.
  bool proven() const { return stage_ == Stage::open && heard_; }
  int peer() const { return peer_; }

  /// Returns the next complete, authenticated frame.
  std::optional<WireBytes> next_frame();
  /// Seals a frame; before the greeting is over frames are kept.
  void send(std::span<const std::byte> frame);
  /// Returns the bytes to be written to the socket.
  WireBytes take_output();

 private:
  enum class Stage { awaits_greeting, awaits_answer, open };

  SealedLink(const LinkSettings& settings, Stage stage) : settings_(settings), stage_(stage) {}
  bool read_greeting();
  bool read_answer();
  bool read_frame();
  void open(std::span<const std::byte> transcript, bool connected);
  void seal(std::span<const std::byte> frame);

  LinkSettings settings_;
  Stage stage_;
  int peer_ = -1;
  bool heard_ = false;  // a proven frame has come
  bool broken_ = false;
  SipKey incoming_key_{}, outgoing_key_{};
  std::uint64_t incoming_count_ = 0, outgoing_count_ = 0;
  WireBytes input_, output_;
  std::vector<WireBytes> waiting_;  // frames given to send before the greeting was over
  std::vector<WireBytes> arrived_;
};

}  // namespace troika
