// The public trainer, as a user's program sees it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <troika/troika.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "checkpoint/safetensors.h"

namespace troika {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::ThrowsMessage;

class PublicTrainer : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string bytes(const std::string& name) const {
    std::ifstream file(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string saved(Trainer& trainer, const std::string& name) const {
    trainer.save(path(name));
    return bytes(name);
  }

 private:
  fs::path folder_ = fs::path(testing::TempDir()) /
                     ("troika-api-" + std::to_string(::getpid()) + "-" +
                      testing::UnitTest::GetInstance()->current_test_info()->name());
};

data::Source digits(std::int64_t size = 256) {
  return data::open("digits:train?size=" + std::to_string(size));
}

nn::Module network() {
  return nn::sequential(nn::flatten(), nn::linear({.out = 32}), nn::relu(),
                        nn::dropout({.rate = 0.1}), nn::linear().named("head"));
}

Trainer make_trainer(TrainerOptions options = {.global_batch = 32},
                     const nn::Module& net = network()) {
  options.threads = 1;
  return Trainer(net, digits(), loss::cross_entropy(), optim::adam({.learning_rate = 3e-3}),
                 options);
}

TEST_F(PublicTrainer, LearnsDigits) {
  Trainer trainer = make_trainer();
  double before = trainer.evaluate(digits()).accuracy.value();
  FitResult result = trainer.fit(trainer.plan(this_machine()), {.epochs = 6});
  Score after = trainer.evaluate(digits());
  EXPECT_LT(before, 0.4);
  EXPECT_GT(after.accuracy.value(), 0.9);
  EXPECT_EQ(after.samples, 256);
  EXPECT_EQ(result.step, 6 * 8);
  EXPECT_FALSE(result.interrupted);
}

TEST_F(PublicTrainer, TwoFitsAreOneLongFit) {
  // 256 samples are no multiple of 24, so the first fit ends inside the third epoch.
  Trainer halves = make_trainer({.global_batch = 24});
  halves.fit(Strategy::single(), {.epochs = 2});
  halves.fit(Strategy::single(), {.epochs = 1});
  Trainer whole = make_trainer({.global_batch = 24});
  EXPECT_EQ(whole.fit(Strategy::single(), {.epochs = 3}).step, 32);
  EXPECT_EQ(saved(halves, "halves.safetensors"), saved(whole, "whole.safetensors"));
}

TEST_F(PublicTrainer, EqualSeedsGiveEqualWeightsAndOthersDoNot) {
  Trainer one = make_trainer({.seed = 5}), same = make_trainer({.seed = 5}),
          other = make_trainer({.seed = 6});
  EXPECT_EQ(saved(one, "one.safetensors"), saved(same, "same.safetensors"));
  EXPECT_NE(saved(one, "one.safetensors"), saved(other, "other.safetensors"));
}

TEST_F(PublicTrainer, LoadsWhatWasSaved) {
  Trainer trained = make_trainer();
  trained.fit(Strategy::single(), {.steps = 12});
  std::string weights = saved(trained, "trained.safetensors");
  Trainer fresh = make_trainer({.global_batch = 16, .seed = 9});
  fresh.load(path("trained.safetensors"));
  EXPECT_EQ(saved(fresh, "loaded.safetensors"), weights);
  EXPECT_NEAR(fresh.evaluate(digits()).loss, trained.evaluate(digits()).loss, 1e-5);
}

TEST_F(PublicTrainer, RefusesAFileThatDoesNotFitAndKeepsItsWeights) {
  Trainer trainer = make_trainer();
  trainer.save(path("net.safetensors"));
  Trainer other = make_trainer({}, nn::sequential(nn::flatten(), nn::linear({.out = 32}),
                                                  nn::relu(), nn::linear().named("tail")));
  other.fit(Strategy::single(), {.steps = 1});
  std::string before = saved(other, "before.safetensors");
  EXPECT_THAT([&] { other.load(path("net.safetensors")); },
              ThrowsMessage<Error>(HasSubstr("tail.weight")));
  EXPECT_EQ(saved(other, "after.safetensors"), before);
  EXPECT_THROW(other.load(path("absent.safetensors")), Error);
}

TEST_F(PublicTrainer, StartsFromMatchingWeightsAndFreezesThem) {
  Trainer first = make_trainer();
  first.fit(Strategy::single(), {.steps = 4});
  first.save(path("first.safetensors"));
  nn::Module net = nn::sequential(nn::flatten(), nn::linear({.out = 32}), nn::relu(),
                                  nn::linear({.out = 12}).named("head"));
  Trainer second = make_trainer({.freeze = {"linear1.*"}}, net);
  EXPECT_THAT(second.start_from(path("first.safetensors")),
              ElementsAre("head.weight", "head.bias"));
  second.save(path("start.safetensors"));
  second.fit(Strategy::single(), {.steps = 4});
  second.save(path("second.safetensors"));

  SafetensorsFile old(path("first.safetensors")), start(path("start.safetensors")),
      now(path("second.safetensors"));
  auto is_equal = [](const SafetensorsFile& a, const SafetensorsFile& b, const std::string& name) {
    return std::ranges::equal(a.bytes(*a.find(name)), b.bytes(*b.find(name)));
  };
  EXPECT_TRUE(is_equal(old, now, "linear1.weight"));
  EXPECT_TRUE(is_equal(old, now, "linear1.bias"));
  EXPECT_FALSE(is_equal(start, now, "head.weight"));
}

TEST_F(PublicTrainer, ListsItsParametersWithoutMakingThem) {
  std::vector<NamedParameter> all = make_trainer({.freeze = {"head.*"}}).parameters();
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].name, "linear1.weight");
  EXPECT_THAT(all[0].shape, ElementsAre(32, 784));
  EXPECT_TRUE(all[0].trained);
  EXPECT_EQ(all[3].name, "head.bias");
  EXPECT_FALSE(all[3].trained);
}

TEST_F(PublicTrainer, ListsRecurrentParametersInTheShapesThatFilesHave) {
  std::ofstream(path("rhyme.txt"))
      << "the quick brown fox jumps over the lazy dog, twice or thrice";
  Trainer trainer(nn::zoo("rnnlm", {{"layers", 1}, {"hidden", 6}}),
                  data::open("text:" + path("rhyme.txt"), {.sequence_length = 8}),
                  loss::cross_entropy(), optim::sgd({}), {.global_batch = 4, .threads = 1});
  trainer.save(path("weights.safetensors"));
  SafetensorsFile file(path("weights.safetensors"));
  std::vector<NamedParameter> all = trainer.parameters();
  for (const NamedParameter& parameter : all) {
    const StoredTensor* stored = file.find(parameter.name);
    ASSERT_NE(stored, nullptr) << parameter.name;
    EXPECT_THAT(parameter.shape, ElementsAreArray(stored->shape.begin(), stored->shape.end()))
        << parameter.name;
  }
  auto w_hh = std::ranges::find(all, "lstm.0.w_hh", &NamedParameter::name);
  ASSERT_NE(w_hh, all.end());
  EXPECT_THAT(w_hh->shape, ElementsAre(24, 6));
}

TEST_F(PublicTrainer, ReportsStepsAndEvaluations) {
  Trainer trainer = make_trainer({.global_batch = 32, .test = data::open("digits:test?size=100")});
  std::vector<std::int64_t> steps;
  std::vector<Score> scores;
  FitResult result = trainer.fit(
      Strategy::single(), {.epochs = 2,
                           .report_every = 5,
                           .on_step = [&](const StepMetrics& at) { steps.push_back(at.step); },
                           .on_evaluation = [&](const Score& score) { scores.push_back(score); }});
  EXPECT_THAT(steps, ElementsAre(5, 10, 15, 16));
  ASSERT_EQ(scores.size(), 2u);
  EXPECT_EQ(scores[1].samples, 100);
  EXPECT_EQ(result.test.value().loss, scores[1].loss);
}

TEST_F(PublicTrainer, StopsWhenAskedAndGoesOnLater) {
  Trainer trainer = make_trainer();
  int asked = 0;
  FitResult first = trainer.fit(Strategy::single(),
                                {.epochs = 1, .stop_requested = [&] { return ++asked == 3; }});
  EXPECT_TRUE(first.interrupted);
  EXPECT_EQ(first.step, 3);
  FitResult second = trainer.fit(Strategy::single(), {.steps = 2});
  EXPECT_FALSE(second.interrupted);
  EXPECT_EQ(second.step, 5);
}

TEST_F(PublicTrainer, LetsWhatACallbackThrowsOutAndCanGoOn) {
  Trainer trainer = make_trainer();
  auto fail = [](const StepMetrics&) { throw std::string("enough"); };
  EXPECT_THROW(trainer.fit(Strategy::single(), {.epochs = 1, .report_every = 2, .on_step = fail}),
               std::string);
  EXPECT_EQ(trainer.fit(Strategy::single(), {.steps = 1}).step, 3);
}

TEST_F(PublicTrainer, MovesItsWeightsToAnotherPlan) {
  std::ofstream(path("plan.json"))
      << R"({"format": "troika plan 1", "micro_batches": 2, "splits": {}})";
  Strategy halves = Strategy::load(path("plan.json"));
  EXPECT_FALSE(halves == Strategy::single());
  halves.save(path("copy.json"));
  EXPECT_TRUE(Strategy::load(path("copy.json")) == halves);

  Trainer moved = make_trainer(), stayed = make_trainer();
  for (const Strategy& plan : {Strategy::single(), halves}) moved.fit(plan, {.steps = 4});
  stayed.fit(Strategy::single(), {.steps = 8});
  EXPECT_NEAR(moved.evaluate(digits()).loss, stayed.evaluate(digits()).loss, 1e-4);
}

TEST_F(PublicTrainer, StopsEarlyWhenTheValidationLossNoLongerFalls) {
  // Without steps in the right direction no evaluation is better than the first one.
  Trainer trainer(network(), digits(), loss::cross_entropy(), optim::sgd({.learning_rate = 0}),
                  {.global_batch = 32,
                   .threads = 1,
                   .validation = data::open("digits:test?size=64"),
                   .test = data::open("digits:test?size=100")});
  std::vector<Score> scores;
  FitOptions options{.epochs = 20, .patience = 2, .on_evaluation = [&](const Score& score) {
                       scores.push_back(score);
                     }};
  FitResult result = trainer.fit(Strategy::single(), options);
  EXPECT_TRUE(result.stopped_early);
  EXPECT_FALSE(result.interrupted);
  EXPECT_EQ(result.step, 3 * 8);
  ASSERT_EQ(scores.size(), 3u);
  EXPECT_EQ(scores[2].samples, 64);
  EXPECT_EQ(result.validation.value().loss, scores[2].loss);
  EXPECT_EQ(result.test.value().samples, 100);
  // Each fit counts anew.
  EXPECT_EQ(trainer.fit(Strategy::single(), options).step, 6 * 8);
  EXPECT_FALSE(trainer.fit(Strategy::single(), {.epochs = 4}).stopped_early);
}

TEST_F(PublicTrainer, ACallbackMaySaveTheBestWeights) {
  Trainer trainer = make_trainer({.global_batch = 32, .test = digits()});
  std::string after_first;
  trainer.fit(Strategy::single(), {.epochs = 2, .on_evaluation = [&](const Score&) {
                                     if (after_first.empty())
                                       after_first = saved(trainer, "best.safetensors");
                                   }});
  Trainer one_epoch = make_trainer();
  one_epoch.fit(Strategy::single(), {.epochs = 1});
  EXPECT_EQ(after_first, saved(one_epoch, "one.safetensors"));
}

TEST_F(PublicTrainer, PredictsTheClassesThatItsAccuracyCounts) {
  std::vector<float> inputs;
  std::vector<std::int32_t> targets;
  for (int at = 0; at < 50; ++at) {
    inputs.insert(inputs.end(), {static_cast<float>(at % 5), static_cast<float>(at % 3)});
    targets.push_back(at % 5 < 2 ? 1 : 0);
  }
  data::Source samples = data::in_memory({.shape = {2}, .inputs = inputs, .targets = targets});
  Trainer trainer(nn::linear(), samples, loss::cross_entropy(), optim::adam(), {.threads = 1});
  trainer.fit(Strategy::single(), {.epochs = 20});
  std::vector<SamplePrediction> found = trainer.predict(samples);
  ASSERT_EQ(found.size(), 50u);
  double right = 0;
  for (std::size_t at = 0; at < 50; ++at) right += found[at].label == targets[at] ? 1 : 0;
  EXPECT_NEAR(right / 50, trainer.evaluate(samples).accuracy.value(), 1e-6);
  EXPECT_GE(found[0].probability, 0.5);
}

TEST_F(PublicTrainer, RefusesToPredictWithoutClassesOrNumbers) {
  Trainer rebuilds(nn::sequential(nn::flatten(), nn::linear({.out = 784})), digits(),
                   loss::mean_squared_error(), optim::adam());
  EXPECT_THAT([&] { rebuilds.predict(digits()); },
              ThrowsMessage<Error>(HasSubstr("the network cannot predict")));
  EXPECT_THAT([] { make_trainer().fit(Strategy::single(), {.patience = 1}); },
              ThrowsMessage<Error>(HasSubstr("'patience' needs samples")));
}

TEST_F(PublicTrainer, SpreadsAPlanOverAsManyDevicesAsItHas) {
  std::ofstream(path("plan.json")) << R"({"format": "troika plan 1", "micro_batches": 1, "splits":
      {"head": {"degrees": {"o": 2}, "devices": [0, 1]}}})";
  Strategy spread = Strategy::load(path("plan.json"));
  Trainer two = make_trainer(), one = make_trainer();
  two.fit(spread, {.steps = 4});
  one.fit(Strategy::single(), {.steps = 4});
  EXPECT_NEAR(two.evaluate(digits()).loss, one.evaluate(digits()).loss, 1e-4);
}

TEST_F(PublicTrainer, RefusesAPlanForAnotherNetwork) {
  std::ofstream(path("plan.json")) << R"({"format": "troika plan 1", "micro_batches": 1, "splits":
      {"conv9": {"degrees": {"n": 1}, "devices": [0]}}})";
  Trainer trainer = make_trainer();
  EXPECT_THAT([&] { trainer.fit(Strategy::load(path("plan.json"))); },
              ThrowsMessage<Error>(HasSubstr("no operator 'conv9'")));
  EXPECT_THROW(Strategy::load(path("absent.json")), Error);
  EXPECT_THAT([&] { Strategy::load(path("")); }, ThrowsMessage<Error>(HasSubstr("regular file")));
  EXPECT_EQ(trainer.fit(Strategy::single(), {.steps = 1}).step, 1);
}

TEST_F(PublicTrainer, RefusesSamplesOfAnotherKind) {
  Trainer trainer = make_trainer();
  data::Source other = data::in_memory({.shape = {3}, .inputs = {1, 2, 3}, .targets = {0}});
  EXPECT_THAT([&] { trainer.evaluate(other); },
              ThrowsMessage<Error>(HasSubstr("trained on samples with 'input' f32[1,28,28]")));
  EXPECT_THROW(make_trainer({.test = other}), Error);
}

TEST_F(PublicTrainer, TheScheduleShapesTheRateOverTheFit) {
  Trainer trainer(network(), digits(), loss::cross_entropy(),
                  optim::sgd({.learning_rate = 0.1,
                              .schedule = optim::CosineOptions{.warmup = 0.5, .final_part = 0.2}}),
                  {.global_batch = 64, .threads = 1});
  std::vector<double> rates;
  trainer.fit(Strategy::single(), {.steps = 8, .report_every = 1, .on_step = [&](const auto& at) {
                                     rates.push_back(at.learning_rate);
                                   }});
  EXPECT_THAT(rates, testing::Pointwise(testing::DoubleNear(1e-9),
                                        {0.025, 0.05, 0.075, 0.1, 0.1, rates[5], 0.06, rates[7]}));
}

TEST_F(PublicTrainer, RefusesOptionsThatMakeNoSense) {
  EXPECT_THROW(make_trainer({.global_batch = 0}), Error);
  EXPECT_THROW(make_trainer({.global_batch = 8, .shards = 3}), Error);
  EXPECT_THROW(make_trainer({.clip_norm = -1}), Error);
  EXPECT_THAT([] { make_trainer({.freeze = {"tail.*"}}); },
              ThrowsMessage<Error>(HasSubstr("matches 'tail.*'")));
  Trainer trainer = make_trainer();
  EXPECT_THROW(trainer.fit(Strategy::single(), {.epochs = 1, .steps = 1}), Error);
  EXPECT_THROW(trainer.fit(Strategy::single(), {.epochs = 0}), Error);
}

TEST_F(PublicTrainer, ALossThatIsNotFiniteStopsEveryFitUntilOtherWeightsAreLoaded) {
  Trainer trainer(network(), digits(), loss::cross_entropy(), optim::sgd({.learning_rate = 1e30}),
                  {.threads = 1});
  trainer.save(path("start.safetensors"));
  std::ofstream(path("plan.json"))
      << R"({"format": "troika plan 1", "micro_batches": 2, "splits": {}})";
  auto kind_of_failure = [&](const Strategy& plan) -> std::optional<ErrorKind> {
    try {
      trainer.fit(plan);
      return std::nullopt;
    } catch (const Error& error) {
      return error.kind();
    }
  };
  EXPECT_EQ(kind_of_failure(Strategy::single()), ErrorKind::numeric);
  std::string weights = saved(trainer, "failed.safetensors");
  for (const Strategy& plan : {Strategy::single(), Strategy::load(path("plan.json"))})
    EXPECT_EQ(kind_of_failure(plan), ErrorKind::numeric);
  EXPECT_EQ(saved(trainer, "still.safetensors"), weights);
  trainer.load(path("start.safetensors"));
  EXPECT_NO_THROW(trainer.fit(Strategy::single(), {.steps = 1}));
  EXPECT_NE(saved(trainer, "moved.safetensors"), bytes("start.safetensors"));
}

TEST_F(PublicTrainer, EveryOptimizerLowersTheLoss) {
  for (const optim::Optimizer& optimizer :
       {optim::sgd({.learning_rate = 0.1, .momentum = 0.9, .nesterov = true}),
        optim::adam({.schedule = optim::CosineOptions{.warmup = 0.1}}),
        optim::adamw({.weight_decay = 0.01, .groups = {{.match = "*.bias", .weight_decay = 0}}}),
        optim::lars({.trust = 0.01, .schedule = optim::StepOptions{.every_epochs = 1}}),
        optim::lamb({.learning_rate = 0.05, .schedule = optim::PolynomialOptions{}})}) {
    Trainer trainer(network(), digits(), loss::cross_entropy(), optimizer,
                    {.global_batch = 32, .threads = 1});
    double before = trainer.evaluate(digits()).loss;
    trainer.fit(Strategy::single(), {.epochs = 2});
    EXPECT_LT(trainer.evaluate(digits()).loss, 0.9 * before) << static_cast<int>(optimizer.kind);
  }
}

TEST_F(PublicTrainer, RebuildsImagesOnTheReferenceKernels) {
  std::vector<float> inputs;
  for (int i = 0; i < 64; ++i) inputs.insert(inputs.end(), {i % 2 * 1.F, i % 3 * .5F, 0.25F, 1.F});
  data::Source samples = data::in_memory(
      {.shape = {4}, .inputs = inputs, .targets = std::vector<std::int32_t>(64, 0)});
  Trainer trainer(nn::sequential(nn::linear({.out = 8}), nn::tanh(), nn::linear({.out = 4})),
                  samples, loss::mean_squared_error(), optim::adam({.learning_rate = 0.02}),
                  {.global_batch = 16, .threads = 1, .kernels = Kernels::reference});
  double before = trainer.evaluate(samples).loss;
  trainer.fit(Strategy::single(), {.epochs = 40});
  Score after = trainer.evaluate(samples);
  EXPECT_LT(after.loss, 0.05 * before);
  EXPECT_FALSE(after.accuracy);
}

TEST_F(PublicTrainer, TrainsAZooModel) {
  Trainer trainer = make_trainer({.global_batch = 32}, nn::zoo("mlp", {{"hidden", 32}}));
  trainer.fit(trainer.plan(this_machine()), {.epochs = 3});
  EXPECT_GT(trainer.evaluate(digits()).accuracy.value(), 0.7);
}

TEST_F(PublicTrainer, CanBeMovedBetweenFits) {
  Trainer first = make_trainer();
  first.fit(Strategy::single(), {.steps = 2});
  Trainer second = std::move(first);
  EXPECT_EQ(second.fit(Strategy::single(), {.steps = 2}).step, 4);
}

}  // namespace
}  // namespace troika
