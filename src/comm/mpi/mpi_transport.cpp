#include "comm/mpi/mpi_transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "base/error.h"

namespace troika {
namespace {

/// A message to another computer travels in pieces, of which some are under way at a time. MPI
/// sends short messages at once (Open MPI over TCP: below 64 KiB); longer ones wait for an answer,
/// which waits behind what the answering side sends itself, so that a link is filled in one
/// direction at a time only. Pieces also let an urgent message overtake: MPI keeps the order of
/// what it was given.
constexpr std::size_t kPiece = 48 << 10;
/// As much as a link of 1 Gb/s sends in 3 ms, which is longer than between two polls.
constexpr std::size_t kPiecesUnderWay = 8;
/// Inside a computer a message is copied from one process to the other in one go. MPI counts bytes
/// in an int.
constexpr std::size_t kPieceHere = 1 << 30;

/// Owns a persistent request.
class Pending {
 public:
  explicit Pending(MpiEngine& engine) : engine_(engine) {}
  Pending(const Pending&) = delete;
  ~Pending() {
    if (request_.handle != MPI_REQUEST_NULL) engine_.remove(request_);
  }

  MPI_Request* handle() { return &request_.handle; }
  void set_receives() { request_.receives = true; }
  bool receives() const { return request_.receives; }
  void start() { engine_.start(request_); }
  bool done() { return engine_.test(request_); }

 private:
  MpiEngine& engine_;
  MpiRequest request_;
};

/// The pieces of a message, in their order.
class Payload {
 public:
  explicit Payload(MpiEngine& engine) : engine_(engine) {}

  /// Adds a piece; the caller prepares its request.
  Pending& add() { return pieces_.emplace_back(engine_); }
  void start() {
    done_ = 0;
    std::size_t first = std::min(kPiecesUnderWay, pieces_.size());
    for (started_ = 0; started_ < first; ++started_) pieces_[started_].start();
  }
  bool done() {
    while (done_ < started_ && pieces_[done_].done()) {
      ++done_;
      if (started_ < pieces_.size()) pieces_[started_++].start();
    }
    return done_ == pieces_.size();
  }

 private:
  MpiEngine& engine_;
  std::deque<Pending> pieces_;  // never moved: MPI knows the addresses of their requests
  std::size_t started_ = 0, done_ = 0;
};

/// State of either half of a message. In the first round a header with the length is sent first,
/// because MPI does not protect against a message that is longer than the receive buffer: Open MPI
/// 4 writes past its end if the ranks share a machine.
struct MpiMessage {
  MpiMessage(MpiEngine& engine, const MpiTransportSettings& transport, const MessageAddress& names,
             std::size_t bytes)
      : settings(transport),
        address(names),
        length(bytes),
        own_length(bytes),
        header(engine),
        payload(engine) {}

  /// To be called when a poll found nothing: throws if a peer is lost. Returns false.
  bool wait_on() const {
    if (settings.check) settings.check();
    return false;
  }

  const MpiTransportSettings& settings;
  const MessageAddress address;
  std::uint64_t length;  ///< The sender's, once the header has come.
  const std::uint64_t own_length;
  bool agreed = false;
  Pending header;
  Payload payload;
};

class MpiOutgoing final : public Outgoing {
 public:
  explicit MpiOutgoing(std::unique_ptr<MpiMessage> message) : message_(std::move(message)) {}

  void start() override {
    // Both at once: MPI matches by communicator and tag, so the payload waits until it is received.
    if (!message_->agreed) message_->header.start();
    message_->payload.start();
  }
  bool done() override {
    // One header is enough: lengths are constant after preparation.
    if (!message_->agreed) message_->agreed = message_->header.done();
    bool done = message_->agreed && message_->payload.done();
    return done || message_->wait_on();
  }

 private:
  std::unique_ptr<MpiMessage> message_;
};

class MpiIncoming final : public Incoming {
 public:
  MpiIncoming(std::unique_ptr<MpiMessage> message, std::byte* buffer)
      : message_(std::move(message)), buffer_(buffer == nullptr ? &nothing_ : buffer) {}

  void start() override {
    has_arrived_ = false;
    // In the first round the payload must not be received before its length is known to fit.
    message_->agreed ? message_->payload.start() : message_->header.start();
  }
  std::byte* arrived() override {
    if (!message_->agreed && message_->header.done()) agree();
    if (!has_arrived_) has_arrived_ = message_->agreed && message_->payload.done();
    return has_arrived_ || message_->wait_on() ? buffer_ : nullptr;
  }
  void finish() override {}

 private:
  void agree() {
    if (message_->length != message_->own_length) {
      throw Error(
          ErrorKind::peer,
          fmt::format("device {} sends message {} of {} bytes to device {}, which expects {}: "
                      "the two make different calls",
                      message_->address.from.value, message_->address.tag, message_->length,
                      message_->address.to.value, message_->own_length));
    }
    message_->agreed = true;
    message_->payload.start();
  }

  std::unique_ptr<MpiMessage> message_;
  std::byte nothing_{};  // address of an empty message: null would mean that it has not arrived
  std::byte* buffer_;
  bool has_arrived_ = false;
};

class MpiTransport final : public Transport {
 public:
  MpiTransport(MpiTransportSettings settings, MpiEngine& engine, std::mutex* lock)
      : settings_(std::move(settings)), engine_(engine), lock_(lock) {}

  ~MpiTransport() override {
    auto lock = hold(lock_);
    MPI_Comm_free(&settings_.payloads);
    MPI_Comm_free(&settings_.headers);
  }

  std::unique_ptr<Outgoing> prepare_send(const MessageAddress& address,
                                         std::span<const std::byte> bytes) override {
    TROIKA_CHECK_EQ(settings_.tags.rank_of(address.from), settings_.rank);
    auto message = std::make_unique<MpiMessage>(engine_, settings_, address, bytes.size());
    prepare(*message, settings_.tags.rank_of(address.to), MPI_Send_init, bytes.data());
    return std::make_unique<MpiOutgoing>(std::move(message));
  }

  std::unique_ptr<Incoming> prepare_receive(const MessageAddress& address,
                                            std::span<std::byte> buffer) override {
    TROIKA_CHECK_EQ(settings_.tags.rank_of(address.to), settings_.rank);
    auto message = std::make_unique<MpiMessage>(engine_, settings_, address, buffer.size());
    message->header.set_receives();
    prepare(*message, settings_.tags.rank_of(address.from), MPI_Recv_init, buffer.data());
    return std::make_unique<MpiIncoming>(std::move(message), buffer.data());
  }

  bool shares_memory(DeviceId, DeviceId) const override { return false; }
  int local_devices() const override { return settings_.local_devices; }
  int devices_here() const override { return settings_.devices_here; }
  /// MPI_Test on any active message already moves all of them.
  void progress() override {}

 private:
  /// `init` is MPI_Send_init or MPI_Recv_init.
  template <class Init, class Address>
  void prepare(MpiMessage& message, int peer, Init init, Address* bytes) {
    // Header and payload have the same tag on separate communicators, so they cannot be confused.
    int tag = settings_.tags.tag_of(message.address);
    auto lock = hold(lock_);
    check_mpi(init(&message.length, sizeof message.length, MPI_BYTE, peer, tag, settings_.headers,
                   message.header.handle()),
              "a preparation of a message");
    std::size_t longest = settings_.is_here[static_cast<std::size_t>(peer)] ? kPieceHere : kPiece;
    // An empty message is one empty piece.
    std::size_t at = 0;
    do {
      std::size_t length = std::min<std::size_t>(longest, message.own_length - at);
      Pending& piece = message.payload.add();
      if (message.header.receives()) piece.set_receives();
      check_mpi(init(bytes + at, static_cast<int>(length), MPI_BYTE, peer, tag, settings_.payloads,
                     piece.handle()),
                "a preparation of a message");
      at += length;
    } while (at < message.own_length);
  }

  MpiTransportSettings settings_;
  MpiEngine& engine_;
  std::mutex* lock_;
};

}  // namespace

std::unique_ptr<Transport> make_mpi_transport(MpiTransportSettings settings, MpiEngine& engine,
                                              std::mutex* lock) {
  return std::make_unique<MpiTransport>(std::move(settings), engine, lock);
}

}  // namespace troika
