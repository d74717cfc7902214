// `troika simulate` and `troika bench sim` as a user runs them.
#include <gmock/gmock.h>

#include "command_line.h"

namespace troika {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kCluster = R"([[nodes]]
name = "gpu"
count = 2
devices = 4
kind = "made up"
memory = "16GiB"
flops = "10Tflops"
memory_bandwidth = "500GB/s"
[node_link]
bandwidth = "100GB/s"
latency = "1us"
[network]
bandwidth = "10Gbps"
latency = "10us"
)";

// Samples of the form that the model has by default, so that its plan alone can be simulated.
constexpr const char* kSmallRun = R"([model]
name = "lenet"
[data]
train = "digits:train?size=60"
[train]
global_batch = 8
steps = 3
[kernels]
backend = "reference"
[parallel]
threads = 1
[run]
name = "tiny"
)";

class Simulate : public CommandLine {
 protected:
  Simulate() {
    folder_.write("cluster.toml", kCluster);
    folder_.write("small.toml", kSmallRun);
  }

  /// What it prints as JSON.
  json simulate(std::vector<std::string> words) {
    words.insert(words.begin(), "simulate");
    words.push_back("--json");
    Result result = run(words);
    EXPECT_EQ(result.code, 0) << result.err;
    return result.code == 0 ? json::parse(result.out) : json();
  }

  Result refused(std::vector<std::string> words) {
    words.insert(words.begin(), "simulate");
    Result result = run(words);
    EXPECT_EQ(result.out, "");
    return result;
  }

  /// A run of two devices on kernels without measured times.
  void train_on_two() { ASSERT_EQ(run({"train", "small.toml", "-n", "2"}).code, 0); }
};

void expect_sums(const json& program) {
  for (const json& a_class : program["classes"]) {
    double share = 0, ms = 0;
    for (const json& part : a_class["time"]) {
      share += part["share"].get<double>();
      ms += part["ms"].get<double>();
    }
    EXPECT_NEAR(share, 1, 1e-9);
    EXPECT_NEAR(ms, program["step_ms"].get<double>(), 1e-5);
  }
  double path = 0;
  for (const json& part : program["critical_path"]) path += part["ms"].get<double>();
  EXPECT_NEAR(path, program["step_ms"].get<double>(), 1e-5);
}

TEST_F(Simulate, ARunFileOnAClusterThatDoesNotExist) {
  json found = simulate({"tiny.toml", "--cluster", "cluster.toml"});
  EXPECT_EQ(found["plan"], "data");
  EXPECT_EQ(found["devices"], 8);
  EXPECT_EQ(found["kernel_rows"]["measured"], 0);
  EXPECT_GT(found["kernel_rows"]["estimated"], 10);
  ASSERT_EQ(found["programs"].size(), 1u);
  const json& program = found["programs"][0];
  expect_sums(program);
  // 20 samples on 8 devices.
  EXPECT_GT(program["classes"].size(), 1u);
  EXPECT_GE(found["step_ms"].get<double>() * 8, found["work_ms"].get<double>());
  EXPECT_EQ(simulate({"tiny.toml", "--cluster", "cluster.toml"}), found);
}

TEST_F(Simulate, MoreDevicesAndOtherLinks) {
  std::vector<std::string> words{"tiny.toml", "--cluster", "cluster.toml", "--devices",
                                 "512",       "--batch",   "1024"};
  json slow = simulate(words);
  EXPECT_EQ(slow["devices"], 512);
  EXPECT_EQ(slow["batch"], 1024);
  EXPECT_EQ(slow["programs"][0]["classes"].size(), 1u);
  words.insert(words.end(), {"--what-if", "link=100Gbps"});
  EXPECT_LT(simulate(words)["step_ms"], slow["step_ms"]);
}

TEST_F(Simulate, APlanFileAloneAndForMoreDevices) {
  train_on_two();
  json found = simulate({"runs/tiny/plan.json"});
  EXPECT_EQ(found["devices"], 2);
  expect_sums(found["programs"][0]);
  fs::copy_file(path("runs/tiny/plan.json"), path("alone.json"));
  json more = simulate({"alone.json", "--cluster", "cluster.toml", "--devices", "16"});
  EXPECT_EQ(more["devices"], 16);
  EXPECT_EQ(more["plan"], "data");
  Result shown = run({"inspect", "runs/tiny/plan.json"});
  EXPECT_THAT(shown.out, AllOf(HasSubstr("predicted step"), HasSubstr("work and depth")));
}

TEST_F(Simulate, ARunBesideItsPrediction) {
  train_on_two();
  Result result = run({"simulate", "--against", "runs/tiny", "--trace", "both.json", "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  json found = json::parse(result.out);
  EXPECT_EQ(found["unknown_tasks"], 0);
  EXPECT_EQ(found["devices"].size(), 2u);
  double predicted = 0, measured = 0, before = 1e9;
  for (const json& work : found["work"]) {
    predicted += work["predicted_ms"].get<double>();
    measured += work["measured_ms"].get<double>();
    double difference =
        std::abs(work["measured_ms"].get<double>() - work["predicted_ms"].get<double>());
    EXPECT_LE(difference, before + 1e-5) << "the largest first";
    before = difference;
    EXPECT_NE(work["cause"], "");
  }
  EXPECT_NEAR(predicted, found["predicted_ms"].get<double>(), 1e-4);
  EXPECT_GE(measured, found["measured_ms"].get<double>() - 1e-4);
  json trace = json::parse(read_text(path("both.json")));
  std::set<int> processes;
  for (const json& event : trace["traceEvents"]) processes.insert(event["pid"].get<int>());
  EXPECT_EQ(processes.size(), 2u);
  Result text = run({"simulate", "--against", "runs/tiny"});
  EXPECT_THAT(text.out, AllOf(HasSubstr("predicted step"), HasSubstr("linear forward"),
                              HasSubstr("between steps"), HasSubstr("cause")));
}

TEST_F(Simulate, ShowsATableForPeopleAndWritesATrace) {
  Result result =
      run({"simulate", "tiny.toml", "--cluster", "cluster.toml", "--trace", "step.json"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("8 x made up, 2 nodes"), HasSubstr("W / D"), HasSubstr("step"),
                    HasSubstr("10 Tflops and 500 GB/s of memory"), HasSubstr("critical path")));
  json trace = json::parse(read_text(path("step.json")));
  int counters = 0;
  for (const json& event : trace["traceEvents"]) counters += event["ph"] == "C" ? 1 : 0;
  EXPECT_GT(counters, 10);
}

TEST_F(Simulate, BadFilesAreRefusedWithTheLine) {
  folder_.write("bad_plan.json", "{\n \"format\": \"troika plan 2\",\n \"splitz\": {}\n}\n");
  Result plan = refused({"bad_plan.json"});
  EXPECT_EQ(plan.code, 3);
  EXPECT_THAT(plan.err, AllOf(HasSubstr("bad_plan.json"), HasSubstr("splitz")));
  folder_.write("bad_costs.json", "{\n \"format\": \"troika costs 3\",\n \"devices\": 5\n}\n");
  Result costs = refused({"tiny.toml", "--costs", "bad_costs.json"});
  EXPECT_EQ(costs.code, 3);
  EXPECT_THAT(costs.err, AllOf(HasSubstr("bad_costs.json"), HasSubstr("line 3")));
  folder_.write("bad_cluster.toml", "[[nodes]]\nname = \"a\"\ndevices = -1\n");
  Result cluster = refused({"tiny.toml", "--cluster", "bad_cluster.toml"});
  EXPECT_EQ(cluster.code, 2);
  EXPECT_THAT(cluster.err, HasSubstr("bad_cluster.toml:3:"));
  EXPECT_EQ(refused({"absent.json"}).code, 3);
}

TEST_F(Simulate, WhatDoesNotFitTogetherIsRefused) {
  EXPECT_THAT(refused({}).err, HasSubstr("takes either a plan or a run file"));
  EXPECT_EQ(refused({"tiny.toml", "--against", "runs/tiny"}).code, 2);
  EXPECT_THAT(refused({"--against", "runs/tiny"}).err, HasSubstr("is not a run folder"));
  EXPECT_EQ(refused({"tiny.toml", "--cluster", "cluster.toml", "--what-if", "link=quick"}).code, 2);
  folder_.write("odd.json",
                R"({"format": "troika plan 2", "model": "mlp", "global_batch": 20,
                    "machine": {"devices": 2}, "splits": {"loss": {"first": 1}}})");
  EXPECT_THAT(refused({"tiny.toml", "--out", "plan.json"}).err, HasSubstr("--order-messages"));
  Result odd = refused({"odd.json", "--devices", "4"});
  EXPECT_EQ(odd.code, 2);
  EXPECT_THAT(odd.err, HasSubstr("needs a ready plan"));
}

TEST_F(Simulate, WritesAPlanWithBetterMessages) {
  auto on_cluster = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--cluster", "cluster.toml"});
    return simulate(words);
  };
  on_cluster({"small.toml", "--order-messages", "--out", "apart.json"});
  json plan = json::parse(read_text(path("apart.json")));
  plan["sync"]["bucket"] = 1;  // each gradient alone
  folder_.write("apart.json", plan.dump());
  json found = on_cluster({"apart.json", "--order-messages", "--out", "better.json"});
  const json& ordered = found["ordered"];
  EXPECT_LT(ordered["after_ms"], ordered["before_ms"]);
  EXPECT_EQ(found["step_ms"], ordered["after_ms"]);
  EXPECT_EQ(on_cluster({"apart.json"})["step_ms"], ordered["before_ms"]);
  EXPECT_EQ(on_cluster({"better.json"})["step_ms"], ordered["after_ms"]);
  json sync = json::parse(read_text(path("better.json")))["sync"];
  EXPECT_GT(sync["bucket"], 1);
  EXPECT_EQ(sync["bucket"], ordered["bucket"]);
  EXPECT_EQ(sync.value("message_order", json::array()), ordered["message_order"]);
}

TEST_F(Simulate, APlanWithAnOrderOfMessagesTrains) {
  train_on_two();
  simulate({"runs/tiny/plan.json", "--order-messages", "--out", "ordered.json"});
  Result trained = run({"train", "small.toml", "parallel.plan=ordered.json", "--name", "again"});
  EXPECT_EQ(trained.code, 0) << trained.err;
}

TEST_F(Simulate, AnOrderOfMessagesIsShownAndItsNamesAreChecked) {
  train_on_two();
  auto with_order = [&](const std::string& name) {
    json plan = json::parse(read_text(path("runs/tiny/plan.json")));
    plan["sync"]["message_order"] = {name, "sum of loss"};
    folder_.write("listed.json", plan.dump());
  };
  with_order("d conv1.weight");
  Result shown = run({"inspect", "listed.json"});
  EXPECT_THAT(shown.out, AllOf(HasSubstr("2 listed messages before the others"),
                               HasSubstr("d conv1.weight, sum of loss")));
  with_order("d conv1.weigt");
  const std::string reason =
      "'message_order' names 'd conv1.weigt', but the model 'lenet' has no 'd conv1.weigt'; did "
      "you "
      "mean 'd conv1.weight'?";
  EXPECT_THAT(refused({"listed.json"}).err, AllOf(HasSubstr("listed.json"), HasSubstr(reason)));
  Result trained = run({"train", "small.toml", "parallel.plan=listed.json", "--name", "wrong"});
  EXPECT_EQ(trained.code, 2);
  EXPECT_THAT(trained.err, HasSubstr(reason));
}

TEST_F(Simulate, IsTimedByABenchmark) {
  Result result =
      run({"bench", "sim", "--model", "lenet", "--devices", "16", "--seconds", "0.05", "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  json found = json::parse(result.out);
  EXPECT_EQ(found["agrees"], true);
  EXPECT_EQ(found["devices"], 16);
  EXPECT_GT(found["full_simulations_per_second"], 0);
  EXPECT_GT(found["tasks"], 20);
  Result text = run({"bench", "sim", "--model", "lenet", "--devices", "2", "--seconds", "0.01"});
  EXPECT_THAT(text.out, HasSubstr("all repeats gave the same times"));
}

}  // namespace
}  // namespace troika
