// Compares the predicted memory with what each device has allocated, messages included.
#include <gtest/gtest.h>

#include "setup/thread_ranks_test.h"
#include "taskgraph/memory_table.h"
#include "train/small_runs_test.h"

namespace troika {
namespace {

struct Planned {
  const char* plan;
  int devices;
  bool sliced_update = false;
};

RunConfig planned_run(const Folder& folder, const std::string& model, const std::string& backend,
                      const Planned& planned) {
  std::vector<std::string> overrides{
      "train.steps=1",
      "kernels.measure=false",
      "kernels.backend=" + backend,
      std::string("parallel.plan=") + planned.plan,
      "parallel.devices=" + std::to_string(planned.devices),
      std::string("parallel.sliced_update=") + (planned.sliced_update ? "true" : "false")};
  return model == "gpt2" ? language_run(folder, overrides) : image_run(model, overrides);
}

/// Runs a step, a save and an evaluation, none of which may allocate memory and keep it.
void expect_predicted(TrainingRun& training, const std::string& what) {
  training.initialize();
  state_of(training);
  training.run(nullptr);
  LiveModel& live = training.live();
  std::vector<MemoryTable> predicted = memory_by_device(live.programs());
  Bytes messages;
  for (const auto& [id, device] : live.setup().local().devices) {
    const MemoryTable& table = predicted[id.index()];
    EXPECT_EQ(device->allocated(), table.persistent + table.arena) << what << ", " << id.value;
    EXPECT_EQ(live.session().allocated(id), table.total()) << what << ", " << id.value;
    messages += table.messages;
  }
  EXPECT_EQ(live.session().message_bytes(), messages) << what;
}

struct Case {
  const char* model;
  const char* backend;
};

class DeviceMemory : public testing::TestWithParam<Case> {};

TEST_P(DeviceMemory, IsPredictedToTheByte) {
  Folder folder;
  auto [model, backend] = GetParam();
  for (Planned planned :
       {Planned{"single", 1}, Planned{"data", 2}, Planned{"tensor", 2}, Planned{"spatial", 2},
        Planned{"hybrid", 2}, Planned{"placed", 3}, Planned{"data", 3, true}}) {
    auto training = make_training(planned_run(folder, model, backend, planned));
    expect_predicted(*training, planned.plan);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, DeviceMemory,
                         testing::Values(Case{"gpt2", "reference"}, Case{"gpt2", "cpu"},
                                         Case{"lenet", "cpu"}, Case{"resnet18", "cpu"}));

TEST(MessageMemory, OfSumsBetweenProcessesIsThereAndPredicted) {
  Folder folder;
  RunConfig config = planned_run(folder, "lenet", "cpu", {"data", 4});
  expect_no_failure(run_ranks(2, [&](Ranks& own) {
    auto training = make_training(config, {.ranks = &own});
    EXPECT_GT(training->live().session().message_bytes(), Bytes{});
    expect_predicted(*training, "rank " + std::to_string(own.rank()));
  }));
}

TEST(SlicedUpdate, CutsTheOptimizersMemory) {
  Folder folder;
  auto optimizer_bytes = [&](bool sliced, std::size_t device) {
    auto training = make_training(planned_run(folder, "gpt2", "reference", {"data", 2, sliced}));
    return memory_of(training->live().session().program("train"), DeviceId(device))
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
