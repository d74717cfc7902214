#include "comm/mpi/mpi_transport.h"

#include <fmt/format.h>

#include "base/error.h"
#include "comm/mpi/mpi_bytes.h"
#include "comm/mpi/mpi_status.h"

namespace troika {
namespace {

/// What both halves of a message are: a persistent request that is started and looked at.
class MpiMessage {
 public:
  MpiMessage(MpiEngine& engine, const std::function<void()>& check)
      : engine_(engine), check_(check) {}
  MpiMessage(const MpiMessage&) = delete;
  ~MpiMessage() {
    if (request_.handle != MPI_REQUEST_NULL) engine_.remove(request_);
  }

  MPI_Request* handle() { return &request_.handle; }
  void add() { engine_.add(request_); }
  void start() { engine_.start(request_); }
  bool done() {
    if (engine_.test(request_)) return true;
    if (check_) check_();
    return false;
  }

 private:
  MpiEngine& engine_;
  const std::function<void()>& check_;
  MpiRequest request_;
};

class MpiOutgoing final : public Outgoing {
 public:
  MpiOutgoing(MpiEngine& engine, const std::function<void()>& check) : message_(engine, check) {}
  MpiMessage& message() { return message_; }

  void start() override { message_.start(); }
  bool done() override { return message_.done(); }

 private:
  MpiMessage message_;
};

class MpiIncoming final : public Incoming {
 public:
  MpiIncoming(MpiEngine& engine, const std::function<void()>& check, std::byte* landing)
      : message_(engine, check), landing_(landing == nullptr ? &nothing_ : landing) {}
  MpiMessage& message() { return message_; }

  void start() override { message_.start(), there_ = false; }
  std::byte* arrived() override {
    if (!there_) there_ = message_.done();
    return there_ ? landing_ : nullptr;
  }
  void finish() override {}

 private:
  MpiMessage message_;
  std::byte nothing_{};  // where an empty message lands: null would mean that it is not there
  std::byte* landing_;
  bool there_ = false;
};

class MpiTransport final : public Transport {
 public:
  MpiTransport(MpiTransportSettings settings, MpiEngine& engine, std::mutex* lock)
      : settings_(std::move(settings)), engine_(engine), lock_(lock) {}

  ~MpiTransport() override {
    auto lock = hold();
    MPI_Comm_free(&settings_.communicator);
  }

  std::unique_ptr<Outgoing> prepare_send(const MessageAddress& address,
                                         std::span<const std::byte> bytes) override {
    TROIKA_CHECK_EQ(settings_.tags.rank_of(address.from), settings_.rank);
    auto half = std::make_unique<MpiOutgoing>(engine_, settings_.check);
    {
      auto lock = hold();
      MpiBytes type(bytes.size());
      check_mpi(MPI_Send_init(bytes.data(), type.count(), type.type(),
                              settings_.tags.rank_of(address.to), settings_.tags.tag_of(address),
                              settings_.communicator, half->message().handle()),
                "MPI_Send_init");
    }
    half->message().add();
    return half;
  }

  std::unique_ptr<Incoming> prepare_receive(const MessageAddress& address,
                                            std::span<std::byte> landing) override {
    TROIKA_CHECK_EQ(settings_.tags.rank_of(address.to), settings_.rank);
    auto half = std::make_unique<MpiIncoming>(engine_, settings_.check, landing.data());
    {
      auto lock = hold();
      MpiBytes type(landing.size());
      check_mpi(MPI_Recv_init(landing.data(), type.count(), type.type(),
                              settings_.tags.rank_of(address.from), settings_.tags.tag_of(address),
                              settings_.communicator, half->message().handle()),
                "MPI_Recv_init");
    }
    half->message().add();
    return half;
  }

  bool shares_memory(DeviceId, DeviceId) const override { return false; }
  int local_devices() const override { return settings_.local_devices; }
  /// Looking at a message that is under way moves all of them.
  void progress() override {}

 private:
  std::unique_lock<std::mutex> hold() {
    return lock_ == nullptr ? std::unique_lock<std::mutex>{} : std::unique_lock(*lock_);
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
