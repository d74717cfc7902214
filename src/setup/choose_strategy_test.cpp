#include "setup/choose_strategy.h"

#include <gtest/gtest.h>

#include "setup/live_model.h"

namespace troika {
namespace {

/// Every command that chooses a plan by name gets the same one, as the costs are no option.
TEST(ChooseStrategy, ReadyPlansWeighTheGivenLinksOfAMachineThatHasNone) {
  RunConfig config{.model = {.name = "rnnlm"}};
  config.parallel.plan.name = "tensor";
  zoo::Model model = build_model(config.model, {.batch = 2});
  Machine machine{std::vector<DeviceSpec>(2)};
  LinkCosts links = assumed_link_costs();
  auto along_units = [&] {
    Strategy made = choose_strategy({config, model, machine, links});
    return degree_along(made.splits.at("lstm.0"), "u");
  };
  links.process = {.alpha = 0, .beta = 1000};
  EXPECT_EQ(along_units(), 2);
  config.parallel.micro_batches = 2;
  links.process.alpha = 1e9;
  EXPECT_EQ(along_units(), 1);
}

}  // namespace
}  // namespace troika
