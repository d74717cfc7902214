// `troika simulate` and `troika bench sim` as a user runs them.
#include <gmock/gmock.h>

#include <functional>
#include <regex>

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

  /// Changes a JSON file.
  void edit(const std::string& file, const std::function<void(json&)>& change) {
    json content = json::parse(read_text(path(file)));
    change(content);
    folder_.write(file, content.dump());
  }

  /// Changes the reports of steps in metrics.jsonl of the run.
  void edit_reports(const std::function<void(json&)>& change) {
    std::istringstream lines(read_text(path("runs/tiny/metrics.jsonl")));
    std::string text;
    for (std::string line; std::getline(lines, line);) {
      json report = json::parse(line);
      if (report.contains("step_ms")) change(report);
      text += report.dump() + "\n";
    }
    folder_.write("runs/tiny/metrics.jsonl", text);
  }

  json against_run() { return simulate({"--against", "runs/tiny"}); }
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

TEST_F(Simulate, ShowsWhatEachLinkCarries) {
  std::vector<std::string> words{"small.toml", "--cluster", "cluster.toml", "--devices", "8"};
  json found = simulate(words)["programs"][0];
  EXPECT_GT(found["sent_bytes"]["network"], 0);
  ASSERT_GE(found["links"].size(), 2u);
  double before = 2;
  bool crosses_switch = false;
  for (const json& link : found["links"]) {
    EXPECT_GT(link["bytes"], 0);
    EXPECT_NEAR(link["share"].get<double>(),
                link["busy_ms"].get<double>() / found["step_ms"].get<double>(), 1e-9);
    EXPECT_LE(link["share"], before) << "the longest busy first";
    before = link["share"].get<double>();
    if (link["from"] != "switch 0" && link["to"] != "switch 0") continue;
    crosses_switch = true;
    // Bytes and overheads at half of the latency: 10 Gb/s each way.
    EXPECT_GT(link["busy_ms"].get<double>(), link["bytes"].get<double>() * 8 / 10e9 * 1e3);
  }
  EXPECT_TRUE(crosses_switch);
  words.insert(words.begin(), "simulate");
  EXPECT_THAT(run(words).out, AllOf(HasSubstr("sent in a step"), HasSubstr("switch 0")));
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
  ASSERT_EQ(found["links"].size(), 1u);  // both devices share memory
  EXPECT_EQ(found["links"][0]["kind"], "process");
  EXPECT_GT(found["links"][0]["sent_bytes"], 0);
  double waits = 0;
  for (const json& work : found["work"])
    if (work["kind"].get<std::string>().starts_with("wait for"))
      waits += work["measured_ms"].get<double>();
  EXPECT_NEAR(found["links"][0]["measured_wait_ms"].get<double>(), waits, 1e-4);
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

TEST_F(Simulate, ATraceOfAnEarlierPartOfTheRunIsRefused) {
  train_on_two();
  // A resumed run writes plan.json when it starts, but trace.json only when it ends.
  std::string trace = read_text(path("runs/tiny/trace.json"));
  ASSERT_EQ(run({"train", "--resume", "runs/tiny", "-n", "1", "train.steps=4"}).code, 0);
  folder_.write("runs/tiny/trace.json", trace);
  Result other = refused({"--against", "runs/tiny"});
  EXPECT_EQ(other.code, 3);
  EXPECT_THAT(other.err, AllOf(HasSubstr("trace.json"), HasSubstr("the trace is of steps 1 to 3")));
  edit("runs/tiny/trace.json", [](json& old) { old.erase("otherData"); });  // of version 0.1
  Result older = refused({"--against", "runs/tiny"});
  EXPECT_EQ(older.code, 3);
  EXPECT_THAT(older.err, HasSubstr("trace.json shows device 1, but plan.json has 1 device; the "
                                   "trace is of an earlier part of the run"));
}

TEST_F(Simulate, OnlyReportsOfTheLastPartOfARunCount) {
  train_on_two();
  ASSERT_EQ(run({"train", "--resume", "runs/tiny", "-n", "2", "train.steps=6"}).code, 0);
  edit_reports([](json& report) { report["step_ms"] = report["step"] <= 3 ? 5000 : 7; });
  EXPECT_EQ(against_run()["measured_ms"], 7);
  // A version that does not say which part its trace is of.
  edit("runs/tiny/trace.json", [](json& old) { old.erase("otherData"); });
  EXPECT_EQ(against_run()["measured_ms"], 5000);
}

TEST_F(Simulate, TheBatchWithWhichTheRunEndedIsCompared) {
  std::string text = kSmallRun;
  text.replace(text.find("size=60"), 7, "size=40");  // 5 steps of 8
  text.replace(text.find("steps = 3"), 9,
               "steps = 8\nbatch_schedule = { factor = 2, every = \"1 epoch\", limit = 16 }");
  text.replace(text.find("\"reference\""), 11, "\"cpu\"");  // its times are in the cost file
  folder_.write("small.toml", text + "[log]\nevery = \"1 step\"\n");
  train_on_two();
  edit_reports([](json& report) { report["step_ms"] = report["step"] <= 5 ? 5000 : 7; });
  json found = against_run();
  EXPECT_EQ(found["measured_ms"], 7);
  EXPECT_THAT(found["notes"].dump(), HasSubstr("steps of 16 samples"));
  json larger =
      simulate({"runs/tiny/plan.json", "--batch", "16", "--costs", "runs/tiny/costs.json"});
  EXPECT_EQ(found["predicted_ms"], larger["step_ms"]);
}

TEST_F(Simulate, TheProcessesAndLinksOfARunAreThoseOfItsFolder) {
  // Times of measured kernels come from the cost file. Estimated ones vary, because each command
  // measures the rates of the device.
  ASSERT_EQ(run({"train", "small.toml", "-n", "2", "kernels.backend=cpu"}).code, 0);
  auto predictions = [&] {
    json plan = simulate({"runs/tiny/plan.json", "--costs", "runs/tiny/costs.json"});
    Result shown = run({"inspect", "runs/tiny/plan.json"});
    Result text = run({"simulate", "runs/tiny/plan.json", "--costs", "runs/tiny/costs.json"});
    std::smatch step;
    std::regex_search(text.out, step, std::regex("\nstep +([^\n]+)"));
    EXPECT_THAT(shown.out, testing::ContainsRegex("predicted step +" + step[1].str()));
    EXPECT_EQ(against_run()["predicted_ms"], plan["step_ms"]);
    EXPECT_EQ(plan["notes"].size(), 0u) << plan["notes"];
    return plan["step_ms"].get<double>();
  };
  double in_one = predictions();
  edit("runs/tiny/env.json", [](json& env) { env["ranks"] = 2; });
  edit("runs/tiny/trace.json", [](json& trace) { trace["otherData"]["ranks"] = "2"; });
  edit("runs/tiny/links.json", [](json& links) {
    links.erase("measured");  // they have precedence
    links["links"]["node"] = {{"alpha_ns", 3e6}, {"beta_ns_per_byte", 1}, {"gamma_ns_per_byte", 0}};
  });
  EXPECT_GT(predictions(), in_one + 3);
}

TEST_F(Simulate, WhatIsAssumedOfProcessesIsNotedFirst) {
  train_on_two();
  edit("runs/tiny/env.json", [](json& env) { env.erase("ranks"); });
  const char* assumed = "The plan does not say which devices share a process";
  EXPECT_THAT(simulate({"runs/tiny/plan.json"})["notes"][0].get<std::string>(), HasSubstr(assumed));
  EXPECT_THAT(against_run()["notes"][0].get<std::string>(), HasSubstr(assumed));
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
  EXPECT_THAT(plan.err,
              AllOf(HasSubstr("bad_plan.json"), HasSubstr("line 3"), HasSubstr("splitz")));
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

TEST_F(Simulate, BadFilesOfARunAreRefused) {
  train_on_two();
  std::string trace = read_text(path("runs/tiny/trace.json"));
  folder_.write("runs/tiny/trace.json", trace.substr(0, trace.size() / 2));
  Result cut = refused({"--against", "runs/tiny"});
  EXPECT_EQ(cut.code, 3);
  EXPECT_THAT(cut.err, HasSubstr("trace.json: the file is not a JSON object"));
  for (const json& device : {json(-1), json(3'000'000'000), json("one")}) {
    folder_.write("runs/tiny/trace.json", trace);
    edit("runs/tiny/trace.json", [&](json& bad) {
      for (json& event : bad["traceEvents"])
        if (event["ph"] == "X") event["tid"] = device;
    });
    Result row = refused({"--against", "runs/tiny"});
    EXPECT_EQ(row.code, 3);
    EXPECT_THAT(row.err, AllOf(HasSubstr("trace.json: "), HasSubstr("'tid' is " + device.dump())));
  }
  folder_.write("runs/tiny/trace.json", trace);
  folder_.write("runs/tiny/links.json", "{\n \"format\": \"troika links 1\",\n \"lynx\": 5\n}\n");
  for (const char* of : {"--against=runs/tiny", "runs/tiny/plan.json"}) {
    Result links = refused({of});
    EXPECT_EQ(links.code, 3);
    EXPECT_THAT(links.err, AllOf(HasSubstr("links.json"), HasSubstr("line 3"), HasSubstr("lynx")));
  }
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
  const json& moves = found["moves"];
  EXPECT_GT(moves["count"], 0);
  for (const char* time : {"change_ms", "delta_ms", "full_ms", "scratch_ms", "undo_ms"})
    EXPECT_GT(moves[time], 0) << time;
  EXPECT_GE(moves["change_and_delta_ms"], moves["delta_ms"]);
  Result text = run({"bench", "sim", "--model", "lenet", "--devices", "2", "--seconds", "0.01"});
  EXPECT_THAT(text.out, AllOf(HasSubstr("delta simulation"), HasSubstr("change + delta"),
                              HasSubstr("all simulations of a plan gave the same times")));
}

}  // namespace
}  // namespace troika
