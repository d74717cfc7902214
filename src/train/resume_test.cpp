// A resumed run computes the same as one that was never stopped.
#include <gtest/gtest.h>

#include <sstream>

#include "base/error.h"
#include "cost/table_json.h"
#include "train/run_record.h"
#include "train/small_runs_test.h"

namespace troika {
namespace {

TEST(Resume, ResumedAtAnyStepEndsInTheSameBits) {
  Folder folder;
  RunConfig config = language_run(folder, {"run.folder=" + folder.path.string()});
  auto whole = make_training(config);
  whole->initialize();
  whole->run(nullptr);
  auto expected = state_of(*whole);
  ASSERT_GT(expected.size(), 20u);
  for (int stop = 1; stop < 20; ++stop) {
    RunFolder run = RunFolder::create(config, "at-" + std::to_string(stop));
    TrainHooks stops = stop_after(stop);
    stops.costs = whole->live().kernels();
    auto first = make_training(config, stops);
    first->initialize();
    EXPECT_TRUE(first->run(&run).interrupted);
    auto second = make_training(config, {.costs = first->live().kernels()});
    second->resume(Checkpoint::open(find_checkpoint(run.path())));
    EXPECT_EQ(second->state().step, stop);
    EXPECT_EQ(second->run(&run).step, 20);
    EXPECT_EQ(state_of(*second), expected) << "stopped at step " << stop;
  }
}

/// Writes a cache in which the slowest kernels have the shortest times.
void invert_times(const fs::path& cache) {
  for (const fs::directory_entry& entry : fs::directory_iterator(cache)) {
    if (entry.path().extension() != ".json") continue;
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    KernelTable costs = parse_costs(text.str()), inverted;
    for (const auto& [kind, rows] : costs.kinds()) {
      for (auto [key, candidates] : rows.rows()) {
        for (Candidate& candidate : candidates)
          candidate.time =
              SimTime{1'000'000'000'000 / std::max<std::int64_t>(candidate.time->count, 1)};
        inverted.insert({kind, key}, candidates);
      }
    }
    std::ofstream(entry.path()) << to_json(inverted);
  }
}

TEST(Resume, ResumedRunsKeepTheirKernelsWhateverTheCacheSaysNow) {
  Folder folder;
  fs::path cache = folder.path / "cache";
  RunConfig config = parse_run(
                         "[model]\nname = \"lenet\"\n[data]\ntrain = "
                         "\"digits:train?size=64\"\n[parallel]\nthreads = 1\n",
                         "lenet.toml",
                         std::vector<std::string>{"train.global_batch=8", "train.steps=6",
                                                  "run.folder=" + folder.path.string(),
                                                  "kernels.cache=" + cache.string()})
                         .config;
  auto whole = make_training(config);
  if (!whole->live().setup().costs) GTEST_SKIP() << "needs oneDNN, whose kernels are measured";
  whole->initialize();
  whole->run(nullptr);

  RunFolder run = RunFolder::create(config, "stopped");
  auto first = make_training(config, stop_after(3));
  EXPECT_EQ(first->live().setup().costs->measured(), 0);
  first->initialize();
  write_record(run, config, *first);
  ASSERT_TRUE(first->run(&run).interrupted);

  std::string choices = first->state().choices_hash;
  for (const char* cache_is : {"inverted", "gone"}) {
    if (std::string_view(cache_is) == "inverted") {
      invert_times(cache);
      EXPECT_NE(make_training(config)->state().choices_hash, choices) << "else this shows nothing";
    } else {
      fs::remove_all(cache);
    }
    auto second = make_training(config, {.costs = recorded_costs(run)});
    EXPECT_EQ(second->state().choices_hash, choices) << cache_is;
    second->resume(Checkpoint::open(find_checkpoint(run.path())));
    EXPECT_EQ(second->run(nullptr).step, 6);
    EXPECT_EQ(state_of(*second), state_of(*whole)) << cache_is;
  }
}

}  // namespace
}  // namespace troika
