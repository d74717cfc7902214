#include <gtest/gtest.h>

#include "lower/lowered.h"
#include "strategy/ready.h"
#include "taskgraph/verify.h"

namespace troika {
namespace {

/// The small model on two devices, each with half of the batch.
struct TwoDevices : Lowered {
  TwoDevices() {
    machine.devices.resize(2);
    strategy = data_parallel(graph, machine);
  }
};

TEST(SeveralDevices, EachUpdatesItsReplicaWithTheSumOfAllGradients) {
  TwoDevices lowered;
  TaskGraph tasks = lowered.run();
  for (const Task& task : tasks.tasks) printf("%d %s\n", task.device.value, task.name.c_str());
}

}  // namespace
}  // namespace troika
