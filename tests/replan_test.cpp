// `troika plan --from RUN` as a user runs it.
#include <gmock/gmock.h>

#include <functional>
#include <map>
#include <regex>

#include "command_line.h"

namespace troika {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kSmall = R"([model]
name = "mlp"
hidden = 64
layers = 2
[data]
train = "digits:train?size=1200"
[train]
global_batch = 384
steps = 3
[kernels]
backend = "cpu"
cache = "cache"
[parallel]
threads = 1
[run]
name = "small"
)";

class Replan : public CommandLine {
 protected:
  Replan() { folder_.write("small.toml", kSmall); }

  void train_on_two() { ASSERT_EQ(run({"train", "small.toml", "-n", "2"}).code, 0); }

  /// Changes the trace of the run: what it measured becomes what was predicted, but that kernels of
  /// each device take so many times as long. So the test does not depend on the speed of the
  /// machine.
  void measure(const std::map<int, double>& slower) {
    json trace = json::parse(read_text(path("runs/small/trace.json")));
    std::map<std::string, int> process;  // by title
    json events = json::array();
    for (const json& event : trace["traceEvents"])
      if (event["ph"] == "M") process[event["args"]["name"]] = event["pid"];
    for (json event : trace["traceEvents"]) {
      if (event["ph"] == "X" && event["pid"] == process["measured"]) continue;
      events.push_back(event);
      if (event["ph"] != "X") continue;
      event["pid"] = process["measured"];
      if (!event["cat"].get<std::string>().starts_with("communication"))
        event["dur"] = event["dur"].get<double>() * slower.at(event["tid"]);
      events.push_back(event);
    }
    trace["traceEvents"] = events;
    folder_.write("runs/small/trace.json", trace.dump());
  }

  Result plan(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"plan",       "--from",      "runs/small",
                                   "--estimate", "--proposals", "200"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }

  /// How long a device would compute under the plan if it were as fast as the others.
  double compute_ms(const std::string& file, int device) {
    Result result =
        run({"simulate", file, "--costs", "runs/small/costs.json", "--estimate", "--json"});
    EXPECT_EQ(result.code, 0) << result.err;
    const json found = json::parse(result.out);
    double ms = 0;
    for (const json& one : found["programs"][0]["classes"]) {
      int first = one["first_device"];
      if (device < first || device >= first + one["devices"].get<int>()) continue;
      for (const json& part : one["time"])
        if (part["use"] == "compute") ms += part["ms"].get<double>();
    }
    return ms;
  }
};

TEST_F(Replan, GivesASlowDeviceLessWork) {
  train_on_two();
  measure({{0, 1}, {1, 2}});
  Result found = plan({"--out", "better.json", "--json"});
  ASSERT_EQ(found.code, 0) << found.err;
  json facts = json::parse(found.out);
  const json& from = facts["from"];
  EXPECT_EQ(from["run"], "runs/small");
  EXPECT_NEAR(from["devices"][0], 1, 1e-9);
  EXPECT_NEAR(from["devices"][1], 2, 0.05);
  EXPECT_GT(from["times_as_fast"], 1);
  EXPECT_NEAR(from["step_ms"].get<double>() / facts["step_ms"].get<double>(), from["times_as_fast"],
              1e-3);
  folder_.write("runs/small/better.json", read_text(path("better.json")));
  EXPECT_LT(compute_ms("runs/small/better.json", 1), compute_ms("runs/small/better.json", 0));
}

TEST_F(Replan, SaysWhatWouldBeGained) {
  train_on_two();
  measure({{0, 1}, {1, 2}});
  Result found = plan();
  EXPECT_EQ(found.code, 0) << found.err;
  EXPECT_THAT(
      found.out,
      AllOf(HasSubstr("With what runs/small measured (device 1 is 2.0 times as slow"),
            HasSubstr("its plan takes "), HasSubstr("the plan found takes "),
            HasSubstr(" times as fast"), HasSubstr("data by speed"), HasSubstr("n = 2 as 2")));
}

TEST_F(Replan, SaysThatNothingWouldBeGained) {
  ASSERT_EQ(run({"train", "small.toml", "parallel.plan=single"}).code, 0);
  measure({{0, 1}});
  Result found = plan();
  EXPECT_EQ(found.code, 0) << found.err;
  EXPECT_THAT(found.out, AllOf(HasSubstr("no plan was found that takes less time than its own"),
                               Not(HasSubstr("times as fast"))));
}

TEST_F(Replan, NeedsARunThatWasMeasured) {
  train_on_two();
  fs::remove(path("runs/small/trace.json"));
  Result untraced = plan();
  EXPECT_EQ(untraced.code, 3);
  EXPECT_THAT(untraced.err, HasSubstr("let it end or stop it with Ctrl-C"));
  Result file = run({"plan", "--from", "small.toml"});
  EXPECT_EQ(file.code, 3);
  EXPECT_THAT(file.err, HasSubstr("'small.toml' is not a run folder"));
}

TEST_F(Replan, ExcludesOtherSources) {
  for (const char* other : {"small.toml", "--cluster=c.toml", "--costs=c.json", "--devices=2",
                            "--batch=2", "--what-if=latency=5us"}) {
    Result both = run({"plan", "--from", "runs/small", other});
    EXPECT_EQ(both.code, 2) << other;
    EXPECT_THAT(both.err, HasSubstr("--from"));
  }
  Result none = run({"plan"});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("'troika plan --from runs/NAME'"));
}

TEST_F(Replan, ARunSaysThatItsStepsWereNotPredictedWell) {
  train_on_two();
  // A resumed run takes the times of kernels from its folder: here a thousand times as long.
  std::string costs = read_text(path("runs/small/costs.json"));
  std::regex time(R"("nanoseconds": ?\d+)");
  folder_.write("runs/small/costs.json", std::regex_replace(costs, time, "$&000"));
  Result few = run({"train", "--resume", "runs/small", "train.steps=12"});
  ASSERT_EQ(few.code, 0) << few.err;
  EXPECT_THAT(few.out, Not(HasSubstr("than predicted")));
  Result many = run({"train", "--resume", "runs/small", "train.steps=30"});
  ASSERT_EQ(many.code, 0) << many.err;
  EXPECT_THAT(many.out, ContainsRegex("a step took .* less than predicted"));
  EXPECT_THAT(many.out, AllOf(HasSubstr("'troika simulate --against runs/small'"),
                              HasSubstr("'troika plan --from runs/small'")));
}

}  // namespace
}  // namespace troika
