#include <exception>
#include <thread>

#include "comm/routed_transport.h"
#include "comm/threads/thread_transport.h"
#include "rank.h"

namespace troika {

std::vector<int> spread_devices(int ranks, int per_rank) {
  std::vector<int> rank_of_device;
  for (int device = 0; device < per_rank * ranks; ++device) {
    rank_of_device.push_back(device / per_rank);
  }
  return rank_of_device;
}

std::unique_ptr<Transport> join_devices(Stage& stage, const std::vector<int>& rank_of_device) {
  auto check = [&heartbeat = stage.heartbeat] { heartbeat.check(); };
  return make_routed_transport(
      {.inside = std::make_unique<ThreadTransport>(),
       .between = stage.world.make_transport(rank_of_device, check),
       .rank_of_device = rank_of_device,
       .on_failure = [&heartbeat = stage.heartbeat](const std::string& reason, int exit_code) {
         heartbeat.give_up({reason, exit_code});
       }});
}

void run_devices(Stage& stage, int per_rank, const std::function<void(DeviceId)>& body) {
  std::vector<std::exception_ptr> errors(per_rank);
  {
    std::vector<std::jthread> threads;
    for (int local = 0; local < per_rank; ++local) {
      threads.emplace_back([&, local] {
        try {
          body(DeviceId(static_cast<std::size_t>(stage.world.rank() * per_rank + local)));
        } catch (...) {
          errors[local] = std::current_exception();
        }
      });
    }
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace troika
