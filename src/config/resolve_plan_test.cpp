#include "config/resolve_plan.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "config/load_run.h"
#include "config/testing/sample_run.h"

namespace troika::config {
namespace {

struct Launch {
  std::vector<std::string> overrides{};
  int ranks = 1;
};

/// As `troika train` reads a file with this [parallel] section.
ParallelConfig resolved(const std::string& section, const Launch& launch = {}) {
  std::string path = testing::TempDir() + "troika-resolve-plan.toml";
  std::ofstream(path) << small_run_with("[parallel]\n" + section);
  return require_flawless(settle(read_draft(path, launch.overrides), launch.ranks)).config.parallel;
}

TEST(ResolvePlan, SeveralDevicesOnTheCommandLineShareTheBatchWherePlansAreOpen) {
  Launch two{.overrides = {"parallel.devices=2"}};
  EXPECT_EQ(resolved("", two).plan.name, "data");
  EXPECT_EQ(resolved("plan = \"single\"\n", two).plan.name, "data");
  EXPECT_EQ(resolved("plan = \"tensor\"\n", two).plan.name, "tensor");
  EXPECT_EQ(resolved("devices = 2\nplan = \"tensor\"\n", {}).plan.name, "tensor");
}

TEST(ResolvePlan, WhatTheUserStatesAtOnePlaceMustAgree) {
  EXPECT_THROW(resolved("devices = 2\n"), Error);
  EXPECT_THROW(resolved("", {.overrides = {"parallel.devices=2", "parallel.plan=single"}}), Error);
  EXPECT_THROW(resolved("devices = 3\nplan = { data = 2, tensor = 2 }\n"), Error);
}

TEST(ResolvePlan, DegreesSayHowManyDevicesThereAre) {
  EXPECT_EQ(resolved("plan = { data = 2, tensor = 2 }\n").devices, 4);
  EXPECT_EQ(resolved("plan = { data = 2, tensor = 2 }\n", {.ranks = 2}).devices, 4);
  Launch overridden{.overrides = {"parallel.plan={ data = 3 }"}};
  EXPECT_EQ(resolved("devices = 2\nplan = \"data\"\n", overridden).devices, 3);
}

TEST(ResolvePlan, RefusesMoreDevicesThanARunMayHave) {
  EXPECT_EQ(resolved("plan = { data = 65536 }\n").devices, 65536);
  EXPECT_THROW(resolved("plan = { data = 65536, tensor = 65536 }\n"), Error);
}

TEST(ResolvePlan, EachRankHasOneDeviceUnlessMoreAreStated) {
  ParallelConfig open = resolved("", {.ranks = 2});
  EXPECT_EQ(open.devices, 2);
  EXPECT_EQ(open.plan.name, "data");
  EXPECT_EQ(resolved("devices = 4\nplan = \"data\"\n", {.ranks = 2}).devices, 4);
  EXPECT_EQ(resolved("", {.overrides = {"parallel.devices=4"}, .ranks = 2}).devices, 4);
  EXPECT_EQ(resolved("", {.overrides = {"parallel.devices=1"}, .ranks = 2}).devices, 1);
}

}  // namespace
}  // namespace troika::config
