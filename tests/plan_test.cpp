// `troika plan` and parallel.plan = "auto" as a user runs them.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>

#include "command_line.h"
#include "planned_files.h"

namespace troika {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Plan : public CommandLine {
 protected:
  Plan() {
    folder_.write("cluster.toml", kCluster);
    folder_.write("wide.toml", kWide);
  }

  json plan(std::vector<std::string> words) {
    words.insert(words.begin(), {"plan", "wide.toml", "--cluster", "cluster.toml"});
    words.push_back("--json");
    Result result = run(words);
    EXPECT_EQ(result.code, 0) << result.err;
    return result.code == 0 ? json::parse(result.out) : json();
  }

  static double step_of(const json& found, const std::string& name) {
    for (const json& finalist : found["finalists"])
      if (finalist["plan"] == name) return finalist["step_ms"];
    ADD_FAILURE() << "no plan " << name;
    return 0;
  }
};

TEST_F(Plan, IsFasterThanReadyPlansAndSimulatesAsPredicted) {
  json found = plan({"--proposals", "400", "--out", "plan.json"});
  EXPECT_LT(found["step_ms"], step_of(found, "data"));
  EXPECT_LE(found["step_ms"], step_of(found, "expert"));
  EXPECT_GE(found["step_ms"], found["bound_ms"]);
  Result simulated = run(
      {"simulate", "wide.toml", "parallel.plan=plan.json", "--cluster", "cluster.toml", "--json"});
  ASSERT_EQ(simulated.code, 0) << simulated.err;
  EXPECT_EQ(json::parse(simulated.out)["step_ms"], found["step_ms"]);
}

TEST_F(Plan, IsTheSameFileForTheSameSeed) {
  plan({"--proposals", "200", "--seed", "5", "--out", "one.json"});
  plan({"--proposals", "200", "--seed", "5", "--out", "two.json"});
  EXPECT_EQ(read_text(path("one.json")), read_text(path("two.json")));
}

TEST_F(Plan, SaysWhereTheGainComesFrom) {
  json found = plan({"--proposals", "300", "--explain"});
  const json& why = found["explanation"];
  double sum = 0;
  for (const json& part : why["gains"]) sum += part["ms"].get<double>();
  EXPECT_NEAR(sum, why["data_parallel_ms"].get<double>() - why["step_ms"].get<double>(), 1e-6);
  Result text =
      run({"plan", "wide.toml", "--cluster", "cluster.toml", "--proposals", "100", "--explain"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("Why not data parallelism"), HasSubstr("next best"),
                              HasSubstr("no plan of its space takes less than")));
}

/// Whole proofs are in exhaustive_test.
TEST_F(Plan, SaysHowFarAProofCameWithinItsTime) {
  Result found =
      run({"plan", "wide.toml", "--cluster", "cluster.toml", "--budget", "500ms", "--exhaustive"});
  ASSERT_EQ(found.code, 0) << found.err;
  EXPECT_THAT(found.out, HasSubstr("none: given up after"));
}

TEST_F(Plan, RefusesACostFileThatIsDamaged) {
  folder_.write("costs.json", R"({"format": "troika costs 4", "kinds": []})");
  EXPECT_EQ(run({"plan", "wide.toml", "--costs", "costs.json", "--cluster", "cluster.toml"}).code,
            3);
}

TEST_F(Plan, RefusesModelsOfSeveralProgramsAndMachinesThatAreTooSmall) {
  Result several = run({"plan", "wide.toml", "--cluster", "cluster.toml", "model.name=dcgan"});
  EXPECT_EQ(several.code, 2) << several.err;
  std::string small = kCluster;
  small.replace(small.find("16GiB"), 5, "64KiB");
  folder_.write("cluster.toml", small);
  Result lacking = run({"plan", "wide.toml", "--cluster", "cluster.toml", "--proposals", "10"});
  EXPECT_EQ(lacking.code, 4);
  EXPECT_THAT(lacking.err, AllOf(HasSubstr("no plan fits"), HasSubstr("64.0 KiB"),
                                 HasSubstr("32 such devices would not be enough either")));
}

TEST_F(Plan, SaysHowManyDevicesWouldBeEnough) {
  std::vector<std::string> words{"plan",         "wide.toml",   "--cluster",
                                 "cluster.toml", "--proposals", "10"};
  json found = plan({"--proposals", "10"});
  // Less than any plan needs on four devices, and more than some plan needs on more.
  double least = 1e18;
  for (const json& finalist : found["finalists"])
    least = std::min(least, finalist["memory"].get<double>());
  auto with_memory = [&](double bytes) {
    std::vector<std::string> asked = words;
    asked.push_back(fmt::format("--what-if=memory={}", static_cast<std::int64_t>(bytes)));
    return asked;
  };
  Result lacking = run(with_memory(0.7 * least));
  EXPECT_EQ(lacking.code, 4) << lacking.out;
  EXPECT_THAT(lacking.err, HasSubstr("such devices would be enough, see --what-if devices="));
  std::size_t at = lacking.err.find("devices=");
  ASSERT_NE(at, std::string::npos);
  std::vector<std::string> enough = with_memory(0.7 * least);
  enough.push_back("--what-if=devices=" + std::to_string(std::stoi(lacking.err.substr(at + 8))));
  EXPECT_EQ(run(enough).code, 0);
  // The same where the number of devices is a wish itself.
  std::vector<std::string> wished = with_memory(0.7 * least);
  wished.push_back("--what-if=devices=2");
  EXPECT_THAT(run(wished).err, HasSubstr("such devices would be enough"));
}

TEST_F(Plan, TrainsWithAutoAndKeepsThePlan) {
  Result first = run({"train", "wide.toml", "parallel.plan=auto"});
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_THAT(first.out,
              AllOf(HasSubstr("plan: "), HasSubstr("a step, found in"), HasSubstr("bound: ")));
  Result second = run({"train", "wide.toml", "parallel.plan=auto", "--name", "again"});
  ASSERT_EQ(second.code, 0) << second.err;
  EXPECT_THAT(second.out,
              AllOf(HasSubstr("plan of an earlier search"), Not(HasSubstr("found in"))));
  EXPECT_EQ(read_text(path("runs/wide/plan.json")), read_text(path("runs/again/plan.json")));
  Result resumed = run({"train", "--resume", "runs/wide", "train.steps=5"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_THAT(resumed.out, Not(HasSubstr("another plan")));
}

TEST_F(Plan, RefusesAutoWithAFixedOrder) {
  Result fixed = run({"train", "wide.toml", "parallel.plan=auto", "parallel.order=fixed"});
  EXPECT_EQ(fixed.code, 2);
  EXPECT_THAT(fixed.err, HasSubstr("does not keep"));
}

}  // namespace
}  // namespace troika
