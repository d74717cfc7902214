#include "train/run_record.h"

#include <gmock/gmock.h>

#include "base/units.h"
#include "taskgraph/memory_table.h"
#include "train/small_runs_test.h"

namespace troika {
namespace {

using testing::EndsWith;
using testing::StartsWith;

std::string fact(const TrainingRun& training, const std::string& name) {
  for (const Fact& fact : training.facts())
    if (fact.name == name) return fact.value;
  return "none";
}

std::string batch_on(const Folder& folder, const std::string& devices, const std::string& batch,
                     const std::string& plan = "data") {
  return fact(*make_training(language_run(
                  folder, {"kernels.backend=reference", "parallel.plan=" + plan,
                           "parallel.devices=" + devices, "train.global_batch=" + batch})),
              "global batch");
}

TEST(RunTable, SaysWhatEachDeviceGetsOfTheBatch) {
  Folder folder;
  EXPECT_EQ(batch_on(folder, "1", "5", "single"), "5 -> 5 on 1 device");
  EXPECT_EQ(batch_on(folder, "2", "5"), "5 -> 2 to 3 on each of 2 devices");
  EXPECT_EQ(batch_on(folder, "2", "5", "tensor"), "5 -> 5 on each of 2 devices");
}

TEST(RunTable, SaysThatDevicesComputeTheSameSamplesWhereThereAreTooFew) {
  Folder folder;
  EXPECT_EQ(batch_on(folder, "8", "5"),
            "5 -> 1 to 2 on each of 8 devices, every sample on 2 of them");
}

TEST(RunTable, GivesMemoryPerDeviceWithItsPartsAndInAll) {
  Folder folder;
  auto memory = [&](std::vector<std::string> overrides) {
    overrides.push_back("kernels.backend=reference");
    return make_training(language_run(folder, overrides));
  };
  auto total = [](TrainingRun& training, std::size_t device) {
    return memory_by_device(training.live().programs()).at(device).total();
  };
  auto one = memory({});
  EXPECT_THAT(fact(*one, "memory"), StartsWith(to_string(total(*one, 0)) + " (parameters "));
  auto two = memory({"parallel.plan=data", "parallel.devices=2"});
  EXPECT_THAT(fact(*two, "memory"),
              StartsWith(to_string(total(*two, 0)) + " on each of 2 devices (parameters "));
  EXPECT_THAT(fact(*two, "memory"), EndsWith(", " + to_string(total(*two, 0) * 2) + " in all"));
  auto placed = memory({"parallel.plan=placed", "parallel.devices=2"});
  Bytes most = std::max(total(*placed, 0), total(*placed, 1));
  EXPECT_THAT(fact(*placed, "memory"),
              StartsWith("up to " + to_string(most) + " per device (parameters "));
  EXPECT_THAT(fact(*placed, "memory"),
              EndsWith(to_string(total(*placed, 0) + total(*placed, 1)) + " in all on 2 devices"));
}

}  // namespace
}  // namespace troika
