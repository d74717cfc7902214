#include "comm/routed_transport.h"

#include <algorithm>

#include "base/error.h"

namespace troika {
namespace {

class RoutedTransport final : public Transport {
 public:
  explicit RoutedTransport(RoutedTransportSettings settings) : ways_(std::move(settings)) {}

  std::unique_ptr<Outgoing> prepare_send(const MessageAddress& address,
                                         std::span<const std::byte> bytes) override {
    return way(address.from, address.to).prepare_send(address, bytes);
  }
  std::unique_ptr<Incoming> prepare_receive(const MessageAddress& address,
                                            std::span<std::byte> buffer) override {
    return way(address.from, address.to).prepare_receive(address, buffer);
  }
  bool shares_memory(DeviceId a, DeviceId b) const override {
    return rank_of(a) == rank_of(b) && ways_.inside->shares_memory(a, b);
  }
  std::unique_ptr<Outgoing> prepare_lend(const MessageAddress& address,
                                         std::span<std::byte> memory) override {
    return way(address.from, address.to).prepare_lend(address, memory);
  }
  std::unique_ptr<Incoming> prepare_borrow(const MessageAddress& address,
                                           std::size_t bytes) override {
    return way(address.from, address.to).prepare_borrow(address, bytes);
  }
  int local_devices() const override {
    return std::max(ways_.inside->local_devices(), ways_.between->local_devices());
  }
  int devices_here() const override {
    return std::max(ways_.inside->devices_here(), ways_.between->devices_here());
  }
  void fail(const std::string& reason, int exit_code) override {
    // The other ranks first: local devices that fail in consequence must not report earlier.
    if (ways_.on_failure) ways_.on_failure(reason, exit_code);
    ways_.inside->fail(reason, exit_code);
  }
  void progress() override {
    ways_.inside->progress();
    ways_.between->progress();
  }

 private:
  int rank_of(DeviceId device) const {
    TROIKA_CHECK(device.valid() && device.index() < ways_.rank_of_device.size(),
                 "a message names a device that no rank has");
    return ways_.rank_of_device[device.index()];
  }
  Transport& way(DeviceId from, DeviceId to) const {
    return rank_of(from) == rank_of(to) ? *ways_.inside : *ways_.between;
  }

  RoutedTransportSettings ways_;
};

}  // namespace

std::unique_ptr<Transport> make_routed_transport(RoutedTransportSettings settings) {
  return std::make_unique<RoutedTransport>(std::move(settings));
}

}  // namespace troika
