// A run whose loss is not finite ends with an error and keeps its weights.
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "train/small_runs_test.h"

namespace troika {
namespace {

TEST(NonFinite, ALossThatIsNotFiniteNamesTheFirstBadTaskAndKeepsTheWeights) {
  Folder folder;
  auto training = make_training(language_run(folder, {"optimizer.name=sgd", "train.steps=5"}));
  training->initialize();
  // A weight that overflows in the first product.
  std::vector<float> huge(
      static_cast<std::size_t>(training->model().train().parameters[0].spec.shape.elements()),
      3e38F);
  training->live().session().load(training->model().train().parameters[0].name,
                                  std::as_bytes(std::span(huge)));
  auto before = state_of(*training);
  try {
    training->run(nullptr);
    FAIL() << "the loss stayed finite";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 6);
    EXPECT_NE(std::string(error.what()).find("written by '"), std::string::npos) << error.what();
  }
  EXPECT_EQ(state_of(*training), before);
  EXPECT_EQ(training->state().step, 0);
}

TEST(NonFinite, ALossThatWasNotFiniteKeepsTheWeightsUnderAnotherPlanToo) {
  Folder folder;
  RunConfig config = language_run(folder, {"optimizer.name=sgd", "train.steps=5"});
  auto failed = make_training(config);
  failed->initialize();
  const Parameter& first = failed->model().train().parameters[0];
  std::vector<float> huge(static_cast<std::size_t>(first.spec.shape.elements()), 3e38F);
  failed->live().session().load(first.name, std::as_bytes(std::span(huge)));
  EXPECT_THROW(failed->run(nullptr), Error);
  // Even where the same step would be finite now.
  failed->initialize();
  auto before = state_of(*failed);
  auto halves = make_training(config, {.strategy = Strategy{.splits = {}, .micro_batches = 2}});
  halves->resume(*failed);
  EXPECT_THROW(halves->run(nullptr), Error);
  EXPECT_TRUE(state_of(*halves) == before);
}

}  // namespace
}  // namespace troika
