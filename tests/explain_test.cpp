// `--explain` of `troika plan` and `troika inspect` as a user runs them.
#include <gmock/gmock.h>

#include "command_line.h"
#include "planned_files.h"

namespace troika {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

class Explain : public CommandLine {
 protected:
  Explain() {
    folder_.write("cluster.toml", kCluster);
    folder_.write("wide.toml", kWide);
  }

  json read(std::vector<std::string> words) {
    words.push_back("--json");
    Result result = run(words);
    EXPECT_EQ(result.code, 0) << result.err;
    return result.code == 0 ? json::parse(result.out) : json();
  }

  /// Of the operators that run on the device that is shown, and the rest.
  static double sum_of(const json& why, const std::string& part = "") {
    double sum = 0;
    auto add = [&](const json& times) {
      for (const auto& [name, value] : times.items())
        if (name.ends_with("_ms") && !name.starts_with("as_")) sum += value.get<double>();
    };
    add(part.empty() ? why["rest"] : why["measured_rest"]);
    for (const json& op : why["operators"])
      if (op["device"] == why["device"]) add(part.empty() ? op : op[part]);
    return sum;
  }
};

TEST_F(Explain, AddsUpToTheStepOfThePlan) {
  json found =
      read({"plan", "wide.toml", "--cluster", "cluster.toml", "--proposals", "300", "--explain"});
  const json& why = found["explanation"];
  EXPECT_EQ(why["predicted_ms"], found["step_ms"]);
  EXPECT_NEAR(sum_of(why), found["step_ms"], 1e-6);
  double path = 0;
  for (const json& share : why["critical_path"]) path += share["ms"].get<double>();
  EXPECT_NEAR(path, found["step_ms"], 1e-6);
}

TEST_F(Explain, NamesTheBusiestResource) {
  folder_.write("data.toml", std::string(kWide) + "[parallel]\nplan = \"data\"\n");
  json why = read({"inspect", "data.toml", "--explain", "--cluster", "cluster.toml"});
  // A network of 1 Gb/s that carries all gradients is slower than anything else here.
  EXPECT_THAT(why["binding"].get<std::string>(), HasSubstr("link gpu"));
  EXPECT_EQ(why["binding"], why["resources"][0]["name"]);
  EXPECT_EQ(why["resources"][0]["busy_ms"], why["links"][0]["busy_ms"]);
  double before = 1;
  for (const json& resource : why["resources"]) {
    EXPECT_LE(resource["share"], before);
    before = resource["share"];
  }
  EXPECT_EQ(why["critical_path"][0]["kind"], "gradient sums");
}

TEST_F(Explain, OfASavedPlanIsThatOfTheSearch) {
  json found = read({"plan", "wide.toml", "--cluster", "cluster.toml", "--proposals", "100",
                     "--explain", "--out", "plan.json"});
  folder_.write("saved.toml",
                std::string(kWide) + "[parallel]\ndevices = 4\nplan = \"plan.json\"\n");
  json saved = read({"inspect", "saved.toml", "--explain", "--cluster", "cluster.toml"});
  EXPECT_EQ(saved, found["explanation"]);
}

TEST_F(Explain, WeighsGradientsAgainstActivations) {
  json found =
      read({"plan", "wide.toml", "--cluster", "cluster.toml", "--proposals", "20", "--explain"});
  bool seen = false;
  for (const json& layer : found["explanation"]["layers"]) {
    if (layer["gradient_bytes"] != 2 * 3 * 512 * 512 * 4) continue;
    seen = true;  // the layer in the middle, of 512 inputs and outputs
    EXPECT_EQ(layer["activation_bytes"], 2 * 3 * 8 * (512 * 4 + 512));
    EXPECT_NEAR(layer["flip_batch"], 512.0 / (1 + 1 / 4.0), 1e-6);
  }
  EXPECT_TRUE(seen);
}

TEST_F(Explain, ShowsWhatARunMeasuredBesideThePrediction) {
  Result trained = run({"train", "wide.toml", "-n", "2"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  json why = read({"inspect", "runs/wide", "--explain"});
  json planned = read({"inspect", "runs/wide/plan.json", "--explain"});
  EXPECT_NEAR(sum_of(planned), planned["predicted_ms"], 1e-6);
  EXPECT_FALSE(planned.contains("measured_ms"));
  EXPECT_NEAR(sum_of(why), why["predicted_ms"], 1e-6);
  EXPECT_NEAR(sum_of(why, "measured"), why["measured_ms"], 1e-6);
  bool ran = false;
  for (const json& op : why["operators"])
    ran = ran || op["measured"]["forward_ms"].get<double>() > 0;
  EXPECT_TRUE(ran);
  Result text = run({"inspect", "runs/wide", "--explain"});
  EXPECT_THAT(text.out, AllOf(HasSubstr("measured step"), HasSubstr("waiting  measured"),
                              HasSubstr("Measured are the tasks")));
}

TEST_F(Explain, SaysWhatCannotBeExplained) {
  Result alone = run({"inspect", "cluster.toml", "--cluster", "cluster.toml"});
  EXPECT_EQ(alone.code, 2);
  EXPECT_THAT(alone.err, HasSubstr("add --explain"));
  folder_.write("gan.toml",
                "[model]\nname = \"dcgan\"\n[data]\ntrain = \"digits:train?size=60\"\n"
                "[train]\nglobal_batch = 8\nsteps = 1\n");
  Result gan = run({"inspect", "gan.toml", "--explain", "--cluster", "cluster.toml"});
  EXPECT_EQ(gan.code, 2);
  EXPECT_THAT(gan.err, HasSubstr("only a step of one program"));
}

}  // namespace
}  // namespace troika
