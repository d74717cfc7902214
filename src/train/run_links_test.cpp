// The link costs that a run uses.
#include <gtest/gtest.h>

#include <fstream>

#include "setup/known_links.h"
#include "setup/thread_ranks_test.h"
#include "train/fingerprint.h"
#include "train/run_record.h"
#include "train/small_runs_test.h"

namespace troika {
namespace {

/// Links whose cost depends only on the number of messages, or only on their bytes.
LinkCosts extreme_links(bool counts_messages) {
  LinkCosts costs = assumed_link_costs();
  LinkCost link = counts_messages ? LinkCost{.alpha = 1e9} : LinkCost{.beta = 1e6, .gamma = 1e6};
  costs.process = costs.node = costs.network = link;
  costs.memory = {.copy = 1e6, .reduce = 1e6, .reduce_both = 1e6};
  costs.provenance = {"measured", machine_of_links(), "2020-02-02", "in a test"};
  return costs;
}

struct Messages {
  std::vector<std::string> algorithms;
  std::vector<Fact> facts;
  std::string fingerprint;
};

Messages messages_of(const RunConfig& config) {
  auto training = make_training(config);
  Messages messages{.facts = training->facts(),
                    .fingerprint = fingerprint_of_programs(
                        training->live(), training->model().train(), training->strategy())};
  for (const Communication& communication :
       training->live().session().program("train").communications)
    messages.algorithms.push_back(communication.algorithm);
  return messages;
}

TEST(LinksOfARun, ChooseTheAlgorithmsOfItsMessages) {
  Folder folder;
  RunConfig config =
      language_run(folder, {"parallel.plan=data", "parallel.devices=4", "kernels.backend=reference",
                            "kernels.cache=" + folder.path.string()});
  auto with = [&](bool counts_messages) {
    std::ofstream(default_links_file(config.kernels.cache))
        << to_json(extreme_links(counts_messages));
    return messages_of(config);
  };
  Messages few = with(true), short_ones = with(false);
  ASSERT_FALSE(few.algorithms.empty());
  EXPECT_NE(few.algorithms, short_ones.algorithms);
  EXPECT_NE(few.fingerprint, short_ones.fingerprint);
  auto says = [](const Fact& fact) {
    return fact.name == "links" && fact.value == "measured on 2020-02-02";
  };
  EXPECT_EQ(std::ranges::count_if(few.facts, says), 1);
  RunConfig none = config;
  none.kernels.cache = "none";
  EXPECT_NE(messages_of(none).fingerprint, few.fingerprint);
}

TEST(LinksOfARun, AreThoseOfTheFirstRank) {
  Folder folder;
  fs::create_directories(folder.path / "own");
  RunConfig config =
      language_run(folder, {"parallel.plan=data", "parallel.devices=4", "kernels.backend=reference",
                            "kernels.cache=" + (folder.path / "own").string()});
  std::ofstream(default_links_file(config.kernels.cache)) << to_json(extreme_links(true));
  std::array<LinkCosts, 2> links;
  expect_no_failure(run_ranks(2, [&](Ranks& own) {
    KernelsConfig kernels = config.kernels;
    if (!own.is_first()) kernels.cache = "none";  // another computer has no such file
    links[static_cast<std::size_t>(own.rank())] =
        set_up_runtime(kernels, config.parallel, {}, own).links;
  }));
  EXPECT_EQ(links[0].process.alpha, 1e9);
  EXPECT_EQ(links[1], links[0]);
}

}  // namespace
}  // namespace troika
