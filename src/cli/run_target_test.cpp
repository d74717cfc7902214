#include "cli/run_target.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "cli/testing/temporary_folder.h"

namespace troika::cli {
namespace {

RunConfig config_below(const TemporaryFolder& folder) {
  RunConfig config;
  config.run.folder = folder.path().string();
  return config;
}

TEST(NameOfRun, IsTheFilesOrForARunFolderTheFolders) {
  TemporaryFolder folder;
  EXPECT_EQ(name_of_run("some/where/mnist.toml"), "mnist");
  EXPECT_EQ(name_of_run(folder.write("plain/run.toml", "")), "run");
  folder.write("digits/checkpoints/latest", "");
  EXPECT_EQ(name_of_run(folder.write("digits/run.toml", "")), "digits");
}

TEST(NewestRunFolder, IsTheOneWithTheHighestNumber) {
  TemporaryFolder folder;
  for (const char* name : {"mnist", "mnist-2", "mnist-10", "mnist-old", "mnist2"})
    folder.write(std::string(name) + "/run.toml", "");
  folder.write("mnist-11/metrics.jsonl", "");
  EXPECT_EQ(newest_run_folder(config_below(folder), "mnist.toml"), folder.path() / "mnist-10");
}

TEST(NewestRunFolder, GoesByTheNameOfTheRunIfItHasOne) {
  TemporaryFolder folder;
  for (const char* name : {"best", "best-2"}) folder.write(std::string(name) + "/run.toml", "");
  RunConfig config = config_below(folder);
  config.run.name = "best";
  EXPECT_EQ(newest_run_folder(config, "mnist.toml"), folder.path() / "best-2");
}

TEST(NewestRunFolder, IsAnErrorWhenNothingRanYet) {
  TemporaryFolder folder;
  EXPECT_THROW(newest_run_folder(config_below(folder), "mnist.toml"), Error);
}

}  // namespace
}  // namespace troika::cli
