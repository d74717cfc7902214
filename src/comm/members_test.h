// Members of a group as threads of a test: one device each, over one transport.
#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "collective/algorithms.h"
#include "comm/communicator.h"
#include "comm/threads/thread_transport.h"

namespace troika {

/// Calls body(communicator) on a thread for each member. A failure on any of them fails the test;
/// the others then wait in vain, so an exception ends the test program with its text.
inline void run_members(int members, const std::function<void(Communicator&)>& body,
                        MoveSchedulerOptions options = {}) {
  ThreadTransport transport;
  std::vector<DeviceId> devices;
  for (int member = 0; member < members; ++member)
    devices.push_back(DeviceId(static_cast<std::size_t>(member)));
  std::vector<std::jthread> threads;
  for (DeviceId device : devices) {
    threads.emplace_back([&, device] {
      MoveScheduler scheduler(transport, device, options);
      Communicator communicator(scheduler, devices);
      body(communicator);
    });
  }
}

template <class T>
std::span<std::byte> bytes_of(std::vector<T>& values) {
  return std::as_writable_bytes(std::span(values));
}

inline Recipe all_reduce_recipe(int members, std::int64_t count, const std::string& algorithm) {
  return make_recipe(equal_parts(Collective::all_reduce, members, count), algorithm);
}

}  // namespace troika
