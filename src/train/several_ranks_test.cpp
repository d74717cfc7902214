// Several ranks, run as threads, train together: they agree, stop, save and fail together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "checkpoint/marker.h"
#include "setup/ranks.h"
#include "setup/thread_ranks_test.h"
#include "train/spread_runs_test.h"

namespace troika {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr double kRankTolerance = 1e-9;

/// Trains to the end, from the start or from the newest checkpoint of the folder.
void train(const Spread& spread, const RunConfig& config, const RunFolder& run, Ranks& ranks) {
  auto training = make_training(config, hooks_for(spread, config, &ranks));
  if (fs::exists(run.checkpoints() / "latest"))
    training->resume(Checkpoint::open(find_checkpoint(run.path())));
  else
    training->initialize();
  training->run(&run);
}

RunFolder train_alone(const Folder& folder, const std::string& name,
                      std::vector<std::string> more = {}) {
  Spread single = spreads().front();
  RunConfig config = spread_run(single, folder.path, std::move(more));
  RunFolder run = RunFolder::create(config, name);
  train(single, config, run, sole_rank());
  return run;
}

Checkpoint last_of(const RunFolder& run) { return Checkpoint::open(find_checkpoint(run.path())); }

TEST(Ranks, GetTheAnswerOfOneDevice) {
  Folder folder;
  RunFolder truth = train_alone(folder, "truth");
  for (int ranks : {2, 4}) {
    for (Spread spread :
         {Spread{"data", 4, {"parallel.plan=data"}}, Spread{"tensor", 4, {"parallel.plan=tensor"}},
          Spread{"sliced", 4, {"parallel.plan=data"}}}) {
      SCOPED_TRACE(spread.name + std::to_string(ranks));
      RunConfig config = spread_run(spread, folder.path);
      RunFolder run = RunFolder::create(config, spread.name + std::to_string(ranks));
      expect_no_failure(run_ranks(ranks, [&](Ranks& own) { train(spread, config, run, own); }));
      EXPECT_LE(distance_of(last_of(run), last_of(truth)), kRankTolerance);
    }
  }
}

TEST(Ranks, GoOnFromCheckpointsOfOtherNumbersOfRanks) {
  Folder folder;
  RunFolder truth = train_alone(folder, "truth");
  std::vector<std::string> half{"train.steps=3"};
  Spread two{"sliced", 4, {"parallel.plan=data"}}, four{"tensor", 4, {"parallel.plan=tensor"}};
  RunConfig first = spread_run(two, folder.path, half);
  RunFolder run = RunFolder::create(first, "spread");
  expect_no_failure(run_ranks(2, [&](Ranks& own) { train(two, first, run, own); }));
  fs::copy(run.path(), folder.path / "alone", fs::copy_options::recursive);

  RunConfig second = spread_run(four, folder.path);
  expect_no_failure(run_ranks(4, [&](Ranks& own) { train(four, second, run, own); }));
  EXPECT_LE(distance_of(last_of(run), last_of(truth)), kRankTolerance);

  RunFolder alone = RunFolder::open(folder.path / "alone");
  train(spreads().front(), spread_run(spreads().front(), folder.path), alone, sole_rank());
  EXPECT_LE(distance_of(last_of(alone), last_of(truth)), kRankTolerance);
}

TEST(Ranks, StopTogetherAfterTheNextStepWhenOneIsAskedTo) {
  Folder folder;
  Spread spread{"data", 2, {"parallel.plan=data"}};
  RunConfig config = spread_run(spread, folder.path, {"train.steps=50"});
  RunFolder run = RunFolder::create(config, "stopped");
  std::array<TrainOutcome, 2> outcomes;
  expect_no_failure(run_ranks(2, [&](Ranks& own) {
    TrainHooks hooks{.ranks = &own};
    int asked = 0;
    if (own.rank() == 1) hooks.stop_requested = [&asked] { return ++asked == 4; };
    auto training = make_training(config, hooks);
    training->initialize();
    outcomes[static_cast<std::size_t>(own.rank())] = training->run(&run);
  }));
  for (const TrainOutcome& outcome : outcomes) {
    EXPECT_TRUE(outcome.interrupted);
    EXPECT_EQ(outcome.step, 4);
  }
  EXPECT_EQ(last_of(run).step(), 4);
}

TEST(Ranks, SaveByTheClockOfTheFirst) {
  Folder folder;
  Spread spread{"data", 2, {"parallel.plan=data"}};
  RunConfig config = spread_run(spread, folder.path, {"train.steps=30", "checkpoint.every=1ms"});
  RunFolder run = RunFolder::create(config, "clock");
  expect_no_failure(run_ranks(2, [&](Ranks& own) { train(spread, config, run, own); }));
  EXPECT_EQ(last_of(run).step(), 30);
  EXPECT_EQ(list_steps(run.checkpoints()).size(), 3u) << "the last ones are kept";
}

TEST(Ranks, MeetALossThatIsNotFiniteTogether) {
  Folder folder;
  Spread spread{"data", 2, {"parallel.plan=data"}};
  RunConfig config =
      spread_run(spread, folder.path, {"optimizer.name=sgd", "optimizer.learning_rate=1e200"});
  RunFolder run = RunFolder::create(config, "wild");
  auto failures = run_ranks(2, [&](Ranks& own) { train(spread, config, run, own); });
  for (const std::exception_ptr& failure : failures) {
    ASSERT_TRUE(failure);
    EXPECT_THAT(sentence_of(failure), AllOf(HasSubstr("not finite"), HasSubstr("written by")));
    EXPECT_THROW(std::rethrow_exception(failure), SharedError);
  }
  EXPECT_EQ(sentence_of(failures[0]), sentence_of(failures[1]));
}

TEST(Ranks, ThatWereStartedDifferentlySayInWhat) {
  Folder folder;
  Spread spread{"data", 2, {"parallel.plan=data"}};
  for (const std::string& change :
       {std::string("optimizer.learning_rate=0.5"), std::string("data.train=digits:train?size=41"),
        std::string("parallel.plan=tensor")}) {
    auto failures = run_ranks(2, [&](Ranks& own) {
      std::vector<std::string> more;
      if (own.rank() == 1) more.push_back(change);
      RunConfig config = spread_run(spread, folder.path, more);
      make_training(config, {.ranks = &own});
    });
    for (const std::exception_ptr& failure : failures) {
      ASSERT_TRUE(failure) << change;
      EXPECT_THAT(sentence_of(failure), AllOf(HasSubstr("rank 0 has"), HasSubstr("rank 1 has")));
      EXPECT_THROW(std::rethrow_exception(failure), SharedError);
    }
  }
}

TEST(Ranks, WhoseTaskGraphsDifferSayIt) {
  Folder folder;
  Spread spread{"data", 2, {"parallel.plan=data"}};
  RunConfig config = spread_run(spread, folder.path);
  auto failures = run_ranks(2, [&](Ranks& own) {
    TrainHooks hooks = hooks_for({"sliced", 2}, config, &own);
    if (own.rank() == 1) hooks.strategy->sync.bucket = Bytes{64};
    make_training(config, hooks);
  });
  for (const std::exception_ptr& failure : failures)
    EXPECT_THAT(sentence_of(failure), AllOf(HasSubstr("plan differs"), HasSubstr("rank 1 has")));
}

TEST(Ranks, ThatCannotGoOnAreNamedToTheOthers) {
  auto failures = run_ranks(3, [](Ranks& own) {
    if (own.rank() == 1) own.give_up(Error(ErrorKind::file, "no such file"));
    own.exchange("well");
  });
  EXPECT_EQ(sentence_of(failures[0]), "rank 1: no such file");
  EXPECT_EQ(sentence_of(failures[1]), "no such file");
  EXPECT_EQ(sentence_of(failures[2]), "rank 1: no such file");
}

/// Counts the samples that are read.
class Counted final : public data::Dataset {
 public:
  Counted(std::unique_ptr<data::Dataset> inner, std::atomic<int>& reads)
      : inner_(std::move(inner)), reads_(reads) {}
  std::int64_t size() const override { return inner_->size(); }
  const data::Encoding& encoding() const override { return inner_->encoding(); }
  void read(data::Sample sample, std::span<const std::span<std::byte>> fields) const override {
    ++reads_;
    inner_->read(sample, fields);
  }

 private:
  std::unique_ptr<data::Dataset> inner_;
  std::atomic<int>& reads_;
};

TEST(Ranks, ReadNoSamplesButTheirOwn) {
  Folder folder;
  Spread spread{"data", 2, {"parallel.plan=data"}};
  RunConfig config = spread_run(spread, folder.path);
  std::array<std::atomic<int>, 2> reads{};
  expect_no_failure(run_ranks(2, [&](Ranks& own) {
    TrainingSets sets = open_sets(config);
    std::atomic<int>& count = reads[static_cast<std::size_t>(own.rank())];
    sets.train = std::make_unique<Counted>(std::move(sets.train), count);
    auto source = [&](const zoo::Samples& samples) { return build_model(config.model, samples); };
    TrainingRun training(config, source, std::move(sets), {.ranks = &own});
    count = 0;
    training.initialize();
    EXPECT_EQ(training.run(nullptr).step, 6);
  }));
  for (const std::atomic<int>& count : reads) {
    EXPECT_GE(count, 6 * 4) << "half of each batch of 8";
    EXPECT_LE(count, (6 + 4) * 4) << "and of the batches made ahead";
  }
}

}  // namespace
}  // namespace troika
