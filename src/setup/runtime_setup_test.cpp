#include "setup/runtime_setup.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/cores.h"
#include "setup/choose_strategy.h"
#include "setup/live_model.h"
#include "setup/thread_ranks_test.h"

namespace troika {
namespace {

const auto kCores = static_cast<std::int64_t>(usable_cores().size());

RuntimeSetup make(std::int64_t devices, std::int64_t threads, Ranks& ranks = sole_rank()) {
  return set_up_runtime({.backend = KernelsConfig::Backend::reference, .cache = "none"},
                        {.devices = devices, .threads = threads}, {}, ranks);
}

/// Threads move messages beside the devices, on cores of their own.
bool moves_beside(const RuntimeSetup& setup) {
  EXPECT_EQ(setup.machine.moves_beside, setup.local().mover == MoverThread::own_core);
  return setup.machine.moves_beside;
}

TEST(RuntimeSetup, MovesMessagesBesideOnlyWhereCoresAreFree) {
  EXPECT_FALSE(moves_beside(make(1, kCores)));
  EXPECT_FALSE(moves_beside(make(2, kCores)));
  EXPECT_EQ(moves_beside(make(2, 1)), kCores > 2);
  EXPECT_EQ(moves_beside(make(1, std::max<std::int64_t>(1, kCores - 1))), kCores > 1);
}

TEST(RuntimeSetup, CountsTheDevicesOfAllRanksOfTheComputer) {
  expect_no_failure(run_ranks(2, [](Ranks& own) {
    EXPECT_FALSE(moves_beside(make(2, kCores, own)));
    EXPECT_EQ(moves_beside(make(2, 1, own)), kCores > 2);
  }));
}

TEST(RuntimeSetup, MeasuresTheRatesOfAKindOnce) {
  Machine machine;
  machine.devices = {
      {.name = "a", .kind = "x"}, {.name = "b", .kind = "y"}, {.name = "c", .kind = "x"}};
  int measured = 0;
  Machine with = with_rates(machine, [&](DeviceSpec device) {
    device.flops_per_second = ++measured;
    return device;
  });
  EXPECT_EQ(measured, 2);
  EXPECT_EQ(with.devices[2].flops_per_second, 1);
  EXPECT_EQ(with.devices[2].name, "c");
}

TEST(RuntimeSetup, TellsAllRanksWhatTheFirstHasMeasured) {
  if (KernelsConfig{}.backend != KernelsConfig::Backend::cpu) GTEST_SKIP() << "needs oneDNN";
  auto key = [](std::int64_t size) {
    return KernelKey{Activation{}, {{{size}, DType::f32}}, Phase::forward, {}};
  };
  std::array<std::vector<std::vector<Candidate>>, 2> rows;
  expect_no_failure(run_ranks(2, [&](Ranks& own) {
    RuntimeSetup setup = set_up_runtime({.backend = KernelsConfig::Backend::cpu, .cache = "none"},
                                        {.devices = 2, .threads = 1}, {}, own);
    std::vector<KernelRequest> asked;
    for (std::int64_t size : {64, 128, 192}) asked.push_back({setup.device().kind(), key(size)});
    asked.push_back({"a device that nobody has", key(64)});
    rows[static_cast<std::size_t>(own.rank())] = setup.answer(asked);
  }));
  ASSERT_EQ(rows[0].size(), 4u);
  for (std::size_t at = 0; at < 4; ++at) {
    ASSERT_FALSE(rows[0][at].empty());
    EXPECT_EQ(rows[0][at][0].time.has_value(), at < 3);  // the last one is left to the rule
    EXPECT_EQ(rows[1][at][0].time, rows[0][at][0].time);
  }
}

/// How many kernels a start with this plan measures.
std::int64_t measured_by_start(const std::filesystem::path& cache, const std::string& plan,
                               bool overlap) {
  RunConfig config{.model = {.name = "lenet"}};
  config.train.global_batch = 4;
  config.kernels = {.backend = KernelsConfig::Backend::cpu, .cache = cache.string()};
  config.parallel = {.devices = 2, .threads = 1};
  config.parallel.plan.name = plan;
  zoo::Model model = build_model(config.model, {.batch = 4});
  LiveModel live(set_up_runtime(config.kernels, config.parallel));
  Strategy strategy = choose_strategy({config, model, live.setup().machine, live.setup().links});
  strategy.sync.overlap = overlap;
  live.add_training(model, config, strategy);
  live.start();
  return live.setup().costs->measured();
}

TEST(RuntimeSetup, ASecondPlanOfTheSamePiecesMeasuresNothing) {
  if (KernelsConfig{}.backend != KernelsConfig::Backend::cpu) GTEST_SKIP() << "needs oneDNN";
  auto cache =
      std::filesystem::temp_directory_path() / ("troika-plans-" + std::to_string(getpid()));
  EXPECT_GT(measured_by_start(cache, "data", true), 50);
  EXPECT_EQ(measured_by_start(cache, "data", false), 0);
  EXPECT_GT(measured_by_start(cache, "tensor", true), 10);  // other pieces
  std::filesystem::remove_all(cache);
}

TEST(RuntimeSetup, RanksThatAskForOtherKernelsNotice) {
  if (KernelsConfig{}.backend != KernelsConfig::Backend::cpu) GTEST_SKIP() << "needs oneDNN";
  auto failures = run_ranks(2, [&](Ranks& own) {
    RuntimeSetup setup = set_up_runtime({.backend = KernelsConfig::Backend::cpu, .cache = "none"},
                                        {.devices = 2, .threads = 1}, {}, own);
    KernelKey key{Activation{}, {{{64 + own.rank()}, DType::f32}}, Phase::forward, {}};
    setup.answer({{setup.device().kind(), key}});
  });
  EXPECT_NE(sentence_of(failures[1]).find("ranks disagree about the run"), std::string::npos);
}

}  // namespace
}  // namespace troika
