// For tests of times: runs an operation, and tells whether other programs disturb the times.
#pragma once

#include <chrono>
#include <fstream>
#include <thread>

#include "base/testing/test_effort.h"
#include "comm/move_scheduler.h"

namespace troika {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Microseconds = std::chrono::duration<double, std::micro>;

constexpr bool kTimesCount = !kInstrumented;  // instrumented code keeps no time limits

inline std::chrono::nanoseconds run_round(MoveScheduler& scheduler, Operation& operation,
                                          std::uint64_t urgency = 0) {
  scheduler.start(operation, urgency);
  return scheduler.wait(operation);
}

/// Whether other programs want the cores too. Asked while this one has one thread.
inline bool cores_are_busy() {
  int running = 0;
  for (int sample = 0; sample < 10; ++sample) {
    std::ifstream loads("/proc/loadavg");
    double load = 0;
    int now = 1;
    loads >> load >> load >> load >> now;
    running += now;
    std::this_thread::sleep_for(5ms);
  }
  return running > 10 * static_cast<int>(std::thread::hardware_concurrency());
}

}  // namespace troika
