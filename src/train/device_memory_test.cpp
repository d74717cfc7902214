// Predicted memory against what each device has allocated.
#include <gtest/gtest.h>

#include "strategy/ready.h"
#include "taskgraph/memory_table.h"
#include "train/small_runs_test.h"

namespace troika {
namespace {

struct Planned {
  const char* plan;
  int devices;
  bool sliced_update = false;
};

std::unique_ptr<Trainer> train_one_step(const Folder& folder, const Planned& planned,
                                        const std::string& backend) {
  RunConfig config = language_run(
      folder,
      {"train.steps=1", "kernels.measure=false", "kernels.backend=" + backend,
       std::string("parallel.plan=") + planned.plan,
       "parallel.devices=" + std::to_string(planned.devices),
       std::string("parallel.sliced_update=") + (planned.sliced_update ? "true" : "false")});
  auto trainer = make_trainer(config);
  trainer->initialize();
  trainer->run(nullptr);
  return trainer;
}

Bytes predicted(Trainer& trainer, std::size_t device) {
  return memory_of(trainer.live().session().program("train"), DeviceId(device)).total();
}

class DeviceMemory : public testing::TestWithParam<const char*> {};

TEST_P(DeviceMemory, IsPredictedToTheByte) {
  Folder folder;
  for (Planned planned : {Planned{"single", 1}, Planned{"data", 2}, Planned{"tensor", 2},
                          Planned{"placed", 3}, Planned{"data", 3, true}}) {
    auto trainer = train_one_step(folder, planned, GetParam());
    const auto& devices = trainer->live().machinery().devices;
    for (std::size_t at = 0; at < devices.size(); ++at)
      EXPECT_EQ(devices[at]->allocated(), predicted(*trainer, at))
          << planned.plan << ", device " << at;
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, DeviceMemory, testing::Values("reference", "cpu"));

TEST(SlicedUpdate, CutsTheOptimizersMemory) {
  Folder folder;
  auto optimizer_bytes = [&](bool sliced, std::size_t device) {
    auto trainer = train_one_step(folder, {"data", 2, sliced}, "reference");
    return memory_of(trainer->live().session().program("train"), DeviceId(device))
        .categories.at(Category::optimizer)
        .count;
  };
  std::int64_t whole = optimizer_bytes(false, 0);
  std::int64_t first = optimizer_bytes(true, 0), second = optimizer_bytes(true, 1);
  EXPECT_EQ(first + second, whole);                    // every element once
  EXPECT_LE(std::max(first, second), whole * 6 / 10);  // rows are cut, so not to the byte in two
}

}  // namespace
}  // namespace troika
