#include "config/run_paths.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "config/testing/sample_run.h"

namespace troika::config {
namespace {

namespace fs = std::filesystem;

RunConfig resolved(std::string_view text, const std::vector<std::string>& overrides = {}) {
  RunFile run = parse_run(text, "below/run.toml", overrides);
  resolve_paths(run.config, run.origins, "below");
  return run.config;
}

constexpr std::string_view kRun = R"(
[run]
folder = "out"
[model]
name = "lenet"
[data]
train = "idx:../mnist/t10k[0:100]"
test = "npy:x.npy,/y.npy?channels=last"
[train]
epochs = 1
[parallel]
plan = "plans/a.json"
[kernels]
cache = "cache"
)";

TEST(RunPaths, OfAFileAreRelativeToThatFile) {
  RunConfig run = resolved(kRun);
  EXPECT_EQ(run.data.train, "idx:mnist/t10k[0:100]");
  EXPECT_EQ(run.data.test, "npy:below/x.npy,/y.npy?channels=last");
  EXPECT_EQ(run.run.folder, "below/out");
  EXPECT_EQ(run.parallel.plan.name, "below/plans/a.json");
  EXPECT_EQ(run.kernels.cache, "below/cache");
}

TEST(RunPaths, OfTheCommandLineAndDefaultsAreRelativeToTheWorkingDirectory) {
  RunConfig run = resolved(kSmallRun, {"data.train=text:a.txt", "kernels.cache=none"});
  EXPECT_EQ(run.data.train, "text:a.txt");
  EXPECT_EQ(run.run.folder, "runs");
  EXPECT_EQ(run.kernels.cache, "none");
  EXPECT_EQ(resolved(kSmallRun).data.train, "digits:train");
}

TEST(RunPaths, AbsoluteOnesMeanTheSameFromAnywhere) {
  RunConfig run = with_absolute_paths(resolved(kRun));
  fs::path here = fs::current_path();
  EXPECT_EQ(run.data.train, "idx:" + (here / "mnist/t10k[0:100]").string());
  EXPECT_EQ(run.data.test, "npy:" + (here / "below/x.npy").string() + ",/y.npy?channels=last");
  EXPECT_EQ(run.run.folder, (here / "below/out").string());
  RunConfig digits = with_absolute_paths(parse(kSmallRun));
  EXPECT_EQ(digits.data.train, "digits:train");
  EXPECT_EQ(digits.data.test, "");
  EXPECT_EQ(digits.parallel.plan.name, "single");
  EXPECT_EQ(digits.kernels.cache, "auto");
}

TEST(RunPaths, AreResolvedWhenAFileIsRead) {
  fs::path folder = fs::temp_directory_path() / ("troika-paths-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  std::ofstream(folder / "run.toml") << kRun;
  RunConfig run = load_run((folder / "run.toml").string());
  fs::remove_all(folder);
  EXPECT_EQ(run.run.folder, (folder / "out").string());
}

}  // namespace
}  // namespace troika::config
