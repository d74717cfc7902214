#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "base/error.h"
#include "rank.h"

namespace troika {
namespace {

constexpr MessageAddress kAddress{DeviceId(1), DeviceId(0), 5};
constexpr std::size_t kSizes[] = {8, 1 << 20};

void await(const std::function<bool()>& holds, const char* what) {
  auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!holds()) {
    TROIKA_CHECK(std::chrono::steady_clock::now() < limit, what);
    std::this_thread::yield();
  }
}

void drop_started_receive(Transport& transport, std::size_t bytes) {
  std::vector<std::byte> gone(bytes);
  auto dropped = transport.prepare_receive(kAddress, gone);
  dropped->start();
  dropped->arrived();  // hands it to MPI in every way of threading, sooner or later
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

void receive(Transport& transport, std::size_t bytes) {
  std::vector<std::byte> buffer(bytes);
  auto incoming = transport.prepare_receive(kAddress, buffer);
  incoming->start();
  await([&] { return incoming->arrived() != nullptr; }, "the message went to a dropped receive");
  TROIKA_CHECK(buffer.back() == std::byte{7}, "another message arrived");
  incoming->finish();
}

void send(Transport& transport, std::size_t bytes) {
  std::vector<std::byte> sent(bytes, std::byte{7});
  auto outgoing = transport.prepare_send(kAddress, sent);
  outgoing->start();
  await([&] { return outgoing->done(); }, "the message was not taken");
}

}  // namespace

void abandon_receives(Stage& stage, const Words&) {
  try {
    start_mpi();
    throw Error(ErrorKind::usage, "MPI was started twice");
  } catch (const Bug&) {
    // It has one owner.
  }
  auto transport = stage.world.make_transport({0, 1}, {});
  for (std::size_t bytes : kSizes) {
    bool receives = stage.world.rank() == 0;
    if (receives) drop_started_receive(*transport, bytes);
    stage.world.exchange("dropped");
    receives ? receive(*transport, bytes) : send(*transport, bytes);
    stage.world.exchange("received");
  }
}

}  // namespace troika
