#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <thread>

#include "base/error.h"
#include "rank.h"

namespace troika {
namespace {

constexpr int kRounds = 3;
constexpr std::size_t kSizes[] = {0, 1, 7, 4096, 100'003, 1 << 20};

std::byte pattern(const MessageAddress& address, int round, std::size_t at) {
  return static_cast<std::byte>(address.from.value * 7 + address.to.value * 13 + address.tag * 29 +
                                round * 31 + at % 251);
}

struct Sending {
  MessageAddress address;
  std::vector<std::byte> bytes;
  std::unique_ptr<Outgoing> half;
};

struct Receiving {
  MessageAddress address;
  std::vector<std::byte> buffer;
  std::unique_ptr<Incoming> half;
  bool there = false;
};

/// One device: its messages to and from all others.
class Member {
 public:
  Member(Transport& transport, DeviceId self, std::size_t devices) : transport_(transport) {
    for (std::size_t other = 0; other < devices; ++other) {
      if (DeviceId(other) == self) continue;
      std::uint32_t tag = 0;
      for (std::size_t bytes : kSizes) {
        sends_.push_back({{self, DeviceId(other), tag}, std::vector<std::byte>(bytes), nullptr});
        receives_.push_back({{DeviceId(other), self, tag}, std::vector<std::byte>(bytes), nullptr});
        ++tag;
      }
    }
    for (Sending& s : sends_) s.half = transport.prepare_send(s.address, s.bytes);
    for (Receiving& r : receives_) r.half = transport.prepare_receive(r.address, r.buffer);
  }

  void run_round(int round) {
    for (Receiving& receive : receives_) {
      std::fill(receive.buffer.begin(), receive.buffer.end(), std::byte{0});
      receive.there = false;
      receive.half->start();
    }
    for (Sending& send : sends_) {
      for (std::size_t at = 0; at < send.bytes.size(); ++at) {
        send.bytes[at] = pattern(send.address, round, at);
      }
      send.half->start();
    }
    while (!all_arrived(round)) std::this_thread::yield();
    for (Sending& send : sends_) {
      while (!send.half->done()) std::this_thread::yield();
    }
  }

 private:
  bool all_arrived(int round) {
    transport_.progress();
    bool all = true;
    for (Receiving& receive : receives_) {
      if (receive.there) continue;
      if (const std::byte* bytes = receive.half->arrived()) {
        verify(receive, bytes, round);
        receive.half->finish();
        receive.there = true;
      } else {
        all = false;
      }
    }
    return all;
  }

  static void verify(const Receiving& receive, const std::byte* bytes, int round) {
    for (std::size_t at = 0; at < receive.buffer.size(); ++at) {
      if (bytes[at] == pattern(receive.address, round, at)) continue;
      throw Bug(fmt::format("byte {} of message {} from {} to {} is wrong in round {}", at,
                            receive.address.tag, receive.address.from.value,
                            receive.address.to.value, round));
    }
  }

  Transport& transport_;
  std::vector<Sending> sends_;
  std::vector<Receiving> receives_;
};

}  // namespace

void exchange_messages(Stage& stage, const Words& words) {
  int per_rank = std::stoi(words.at(0));
  std::vector<int> rank_of_device = spread_devices(stage.world.ranks(), per_rank);
  auto transport = join_devices(stage, rank_of_device);
  run_devices(stage, per_rank, [&](DeviceId device) {
    Member member(*transport, device, rank_of_device.size());
    for (int round = 0; round < kRounds; ++round) member.run_round(round);
  });
  stage.world.exchange("");
}

void time_messages(Stage& stage, const Words& words) {
  MpiWorld& world = stage.world;
  std::size_t bytes = std::stoul(words.at(0));
  int rounds = std::stoi(words.at(1));
  auto transport = world.make_transport({0, 1}, {});
  std::vector<std::byte> there(bytes), back(bytes);
  DeviceId self(static_cast<std::size_t>(world.rank()));
  DeviceId peer(static_cast<std::size_t>(1 - world.rank()));
  auto send = transport->prepare_send({self, peer, 0}, there);
  auto receive = transport->prepare_receive({peer, self, 0}, back);
  auto take = [&] {
    while (receive->arrived() == nullptr) std::this_thread::yield();
  };
  auto give = [&] {
    send->start();
    while (!send->done()) std::this_thread::yield();
  };
  double best = 1e9;
  for (int repeat = 0; repeat < 7; ++repeat) {
    world.exchange("");
    auto start = std::chrono::steady_clock::now();
    for (int round = 0; round < rounds; ++round) {
      receive->start();
      if (world.rank() == 0) {
        give();
        take();
      } else {
        take();
        give();
      }
    }
    std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count() / rounds / 2);
  }
  if (world.rank() == 0) fmt::print("{} B: {:.2f} us\n", bytes, best);
}

}  // namespace troika
