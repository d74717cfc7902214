// `mpirun -n R troika train`: the answer of one device; the end of a rank, and how the rest goes
// on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mpi_job.h"
#include "train/spread_runs_test.h"

namespace troika {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;

constexpr double kTolerance = 1e-9;

constexpr const char* kLenet = R"(
[model]
name = "lenet"
width = 0.2
[data]
train = "digits:train?size=40"
)";
constexpr const char* kGpt2 = R"(
[model]
name = "gpt2"
layers = 1
width = 16
heads = 4
dropout = 0.1
[data]
train = "text:rhyme.txt"
sequence = 16
)";
constexpr const char* kRest = R"(
[train]
global_batch = 8
steps = 4
seed = 3
[optimizer]
name = "sgd"
momentum = 0.9
learning_rate = 0.01
[kernels]
backend = "reference"
dtype = "f64"
[parallel]
threads = 1
)";

class TrainingRanks : public testing::Test {
 protected:
  void SetUp() override {
    if (!MpiJob::launcher_is_there())
      GTEST_SKIP() << "no MPI: " << TROIKA_MPIRUN << " is not there";
    std::ofstream(folder_.path / "rhyme.txt") << rhyme();
    write("lenet", kLenet);
    write("gpt2", kGpt2);
  }

  void write(const std::string& name, const char* model) const {
    std::string text = std::string(model) + kRest;
    if (std::size_t at = text.find("rhyme.txt"); at != text.npos)
      text.replace(at, 9, (folder_.path / "rhyme.txt").string());
    std::ofstream(file(name)) << text;
  }
  std::string file(const std::string& name) const {
    return (folder_.path / (name + ".toml")).string();
  }
  RunFolder run(const std::string& name) const { return RunFolder::open(folder_.path / name); }
  static Checkpoint last(const RunFolder& run) {
    return Checkpoint::open(find_checkpoint(run.path()));
  }

  std::vector<std::string> words(const std::string& model, const std::string& name,
                                 std::vector<std::string> more) const {
    std::vector<std::string> all{"train", file(model), "--name", name,
                                 "run.folder=" + folder_.path.string()};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  RunFolder train_alone(const std::string& model, std::vector<std::string> more = {}) const {
    more.push_back("run.folder=" + folder_.path.string());
    RunConfig config = load_run(file(model), more);
    RunFolder folder = RunFolder::create(config, model + "-alone");
    auto training = make_training(config);
    training->initialize();
    training->run(&folder);
    return folder;
  }

  std::string log_of(const std::string& name, int rank) const {
    return read_text(folder_.path / name / "logs" / ("rank-" + std::to_string(rank)));
  }
  bool has_left(const std::string& name, int rank) const {
    return log_of(name, rank).ends_with("exit code 5\n");
  }
  bool has_saved(const std::string& name) const {
    return fs::exists(folder_.path / name / "checkpoints" / "latest");
  }

  /// A signal to one rank in the middle of training: the others say who is lost and in what, and
  /// fewer of them go on under another plan.
  void lose_a_rank(int signal);
  void train_until_struck(const std::string& name, int signal);

  Folder folder_;
};

struct Way {
  int ranks;
  std::vector<std::string> words;
};

TEST_F(TrainingRanks, GetTheAnswerOfOneDevice) {
  const std::vector<Way> ways{{2, {"parallel.plan=data"}},
                              {2, {"parallel.plan=tensor"}},
                              {4, {"parallel.plan=data"}},
                              {4, {"parallel.plan=tensor"}},
                              {2, {"-n", "4", "parallel.plan={data=2,tensor=2}"}}};
  for (const char* model : {"lenet", "gpt2"}) {
    RunFolder truth = train_alone(model);
    for (std::size_t at = 0; at < ways.size(); ++at) {
      std::string name = model + std::to_string(at);
      SCOPED_TRACE(name);
      MpiJob job(ways[at].ranks, MpiJob::Troika{words(model, name, ways[at].words)});
      ASSERT_EQ(job.wait(seconds(120)), 0) << job.output();
      EXPECT_LE(distance_of(last(run(name)), last(truth)), kTolerance);
      for (int rank = 0; rank < ways[at].ranks; ++rank)
        EXPECT_THAT(log_of(name, rank), HasSubstr("finished step 4"));
    }
  }
}

TEST_F(TrainingRanks, MeasuredKernelsAreTheSameOnAllRanks) {
  RunConfig config = load_run(file("lenet"));
  if (KernelsConfig{}.backend != KernelsConfig::Backend::cpu) GTEST_SKIP() << "needs oneDNN";
  MpiJob job(2, MpiJob::Troika{words("lenet", "measured",
                                     {"kernels.backend=cpu", "kernels.dtype=f32",
                                      "kernels.cache=" + (folder_.path / "cache").string()})});
  ASSERT_EQ(job.wait(seconds(120)), 0) << job.output();
  EXPECT_EQ(last(run("measured")).step(), 4);
}

TEST_F(TrainingRanks, WatchEachOtherWhereAndIfTheRunFileSays) {
  MpiJob off(2, MpiJob::Troika{words("lenet", "off", {"heartbeat.enabled=false"})});
  EXPECT_EQ(off.wait(seconds(60)), 0) << off.output();
  // All ranks are on one computer, so that nobody asks for the interface.
  MpiJob loopback(2, MpiJob::Troika{words("lenet", "loopback", {"heartbeat.interface=none-such"})});
  EXPECT_EQ(loopback.wait(seconds(60)), 0) << loopback.output();
  // One port is not enough for two ranks: both give up.
  std::string port = std::to_string(20000 + getpid() % 10000);
  MpiJob one(2, MpiJob::Troika{words("lenet", "one", {"heartbeat.ports=" + port + "-" + port})});
  EXPECT_EQ(one.wait(seconds(60)), 2) << one.output();
  EXPECT_THAT(one.output(), HasSubstr("no TCP port from " + port + " to " + port));
}

TEST_F(TrainingRanks, SayWhatIsWrongOnceAndWithItsCode) {
  MpiJob job(2, MpiJob::Troika{words("lenet", "bad", {"optimizer.learning_rat=1"})});
  EXPECT_EQ(job.wait(seconds(60)), 2) << job.output();
  std::string output = job.output();
  std::size_t first = output.find("learning_rat'");
  ASSERT_NE(first, output.npos) << output;
  EXPECT_EQ(output.find("unknown key", output.find("unknown key") + 1), output.npos) << output;

  MpiJob odd(2, MpiJob::Troika{words("lenet", "odd", {"-n", "3"})});
  EXPECT_EQ(odd.wait(seconds(60)), 2) << odd.output();
  EXPECT_THAT(odd.output(), HasSubstr("3 devices cannot be spread evenly over 2 ranks"));
}

void TrainingRanks::lose_a_rank(int signal) {
  const std::string name = "struck";
  train_until_struck(name, signal);
  std::int64_t reached = last(run(name)).step();
  ASSERT_GT(reached, 0);
  std::string steps = "train.steps=" + std::to_string(reached + 3);
  MpiJob rest(2, MpiJob::Troika{{"train", "--resume", run(name).path().string(), "-n", "2",
                                 "parallel.plan=tensor", steps}});
  ASSERT_EQ(rest.wait(seconds(120)), 0) << rest.output();
  EXPECT_EQ(last(run(name)).step(), reached + 3);
  RunFolder truth = train_alone("lenet", {steps, "train.global_batch=9"});
  EXPECT_LE(distance_of(last(run(name)), last(truth)), kTolerance)
      << "after " << reached << " steps";
}

void TrainingRanks::train_until_struck(const std::string& name, int signal) {
  constexpr int kRanks = 3, kVictim = 1;
  MpiJob job(kRanks, MpiJob::Troika{words("lenet", name,
                                          {"train.steps=1000000", "train.global_batch=9",
                                           "checkpoint.every=5 steps", "log.every=1 steps"})});
  ASSERT_TRUE(wait_until(seconds(90), [&] { return has_saved(name); })) << job.output();
  pid_t victim = job.troika_rank(kVictim);
  ASSERT_NE(victim, 0);
  kill(victim, signal);
  if (signal == SIGKILL && MpiJob::launcher_kills_survivors()) {
    EXPECT_GT(job.wait(seconds(20)), 0);
    return;
  }
  EXPECT_TRUE(wait_until(seconds(10), [&] { return has_left(name, 0) && has_left(name, 2); }))
      << job.output() << log_of(name, 0) << log_of(name, 2);
  for (int rank : {0, 2})
    EXPECT_THAT(log_of(name, rank), AllOf(HasSubstr("rank 1 is lost"), HasSubstr("call "),
                                          HasSubstr("a step of 'train'")));
  kill(victim, SIGKILL);  // one that is stopped would stay
  EXPECT_GT(job.wait(seconds(20)), 0);
}

TEST_F(TrainingRanks, NameOneThatIsKilledAndFewerGoOnUnderAnotherPlan) { lose_a_rank(SIGKILL); }

TEST_F(TrainingRanks, NameOneThatIsStoppedAndFewerGoOnUnderAnotherPlan) { lose_a_rank(SIGSTOP); }

TEST_F(TrainingRanks, StopTogetherAndSaveWhenOneOfThemIsAsked) {
  for (bool by_file : {false, true}) {
    std::string name = by_file ? "by-file" : "by-signal";
    MpiJob job(2,
               MpiJob::Troika{words("lenet", name, {"train.steps=1000000", "log.every=1 steps"})});
    fs::path folder = folder_.path / name;
    ASSERT_TRUE(wait_until(seconds(60), [&] {
      return log_of(name, 0).find("step 2/") != std::string::npos;
    })) << job.output();
    if (by_file)
      std::ofstream(folder / "stop") << "";
    else
      kill(job.troika_rank(1), SIGUSR1);
    EXPECT_EQ(job.wait(seconds(60)), 75) << job.output();
    for (int rank : {0, 1}) {
      EXPECT_THAT(log_of(name, rank), HasSubstr("stopped after step"));
      EXPECT_THAT(log_of(name, rank), HasSubstr("exit code 75"));
    }
    EXPECT_GT(last(run(name)).step(), 1);
    EXPECT_FALSE(fs::exists(folder / "stop"));
  }
}

TEST_F(TrainingRanks, GoOnFromCheckpointsOfOtherNumbersOfRanks) {
  RunFolder truth = train_alone("lenet");
  auto train = [&](int ranks, const std::vector<std::string>& more) {
    MpiJob job(ranks, MpiJob::Troika{more});
    EXPECT_EQ(job.wait(seconds(120)), 0) << job.output();
  };
  train(2, words("lenet", "first", {"train.steps=2"}));
  fs::copy(folder_.path / "first", folder_.path / "second", fs::copy_options::recursive);
  train(4, {"train", "--resume", run("first").path().string(), "-n", "4", "train.steps=4",
            "parallel.plan=spatial"});
  EXPECT_LE(distance_of(last(run("first")), last(truth)), kTolerance);
  train(1, {"train", "--resume", run("second").path().string(), "-n", "1", "train.steps=4"});
  EXPECT_LE(distance_of(last(run("second")), last(truth)), kTolerance);
}

TEST_F(TrainingRanks, EndWithTheCodeOfALossThatIsNotFinite) {
  MpiJob job(2, MpiJob::Troika{words("lenet", "wild", {"optimizer.learning_rate=1e200"})});
  EXPECT_EQ(job.wait(seconds(60)), 6) << job.output();
  for (int rank : {0, 1})
    EXPECT_THAT(log_of("wild", rank), AllOf(HasSubstr("not finite"), HasSubstr("exit code 6")));
}

TEST_F(TrainingRanks, ThatWereStartedDifferentlyNameBothSides) {
  std::vector<std::string> both = words("lenet", "differ", {});
  std::vector<std::string> other = words("lenet", "differ", {"optimizer.learning_rate=0.02"});
  both.insert(both.end(), {":", "-n", "1", MpiJob::troika_program().string()});
  both.insert(both.end(), other.begin(), other.end());
  MpiJob job(1, MpiJob::Troika{both});
  EXPECT_EQ(job.wait(seconds(60)), 2) << job.output();
  EXPECT_THAT(job.output(), AllOf(HasSubstr("rank 0 has 'learning_rate = 0.01'"),
                                  HasSubstr("rank 1 has 'learning_rate = 0.02'")));
}

}  // namespace
}  // namespace troika
