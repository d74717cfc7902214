#include "cli/inspection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "checkpoint/save.h"
#include "cli/testing/temporary_folder.h"
#include "config/load_cluster.h"
#include "config/load_run.h"
#include "cost/link_costs.h"
#include "strategy/plan_origin.h"
#include "strategy/ready.h"
#include "train/training_sets.h"
#include "zoo/zoo.h"

namespace troika::cli {
namespace {

using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::string value(const Inspection& found, const std::string& name) {
  for (const Fact& fact : found.facts)
    if (fact.name == name) return fact.value;
  return "no fact " + name;
}

constexpr const char* kRunFile =
    "[model]\nname = \"lenet\"\n[data]\ntrain = \"digits:train\"\n[train]\nepochs = "
    "3\n[optimizer]\nname = \"adam\"\n";

std::string idx_array(std::uint8_t count) {
  std::string text("\0\0\x08\x01\0\0\0", 7);
  text += static_cast<char>(count);
  return text + std::string(count, '\1');
}

std::string npy_array() {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  header.resize(128 - 10 - 1, ' ');
  header += '\n';
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header +
         std::string(24, '\0');
}

TEST(Inspect, KnowsARunFile) {
  TemporaryFolder folder;
  Inspection found = inspect(folder.write("any.toml", kRunFile));
  EXPECT_EQ(found.kind, "run file");
  EXPECT_EQ(value(found, "model"), "lenet");
  EXPECT_EQ(value(found, "length"), "3 epochs");
}

TEST(Inspect, TakesAWordAndAColonForADataSet) {
  EXPECT_THAT([] { inspect("labelled:none.tsv"); },
              ThrowsMessage<Error>(HasSubstr("cannot read 'none.tsv'")));
  EXPECT_THAT([] { inspect("picture:none"); },
              ThrowsMessage<Error>(HasSubstr("unknown scheme 'picture'")));
  EXPECT_THAT([] { inspect("folder/a:b"); }, ThrowsMessage<Error>(HasSubstr("does not exist")));
}

TEST(Inspect, KnowsARunFolderAndItsNewestMetrics) {
  TemporaryFolder folder;
  folder.write("run/run.toml", kRunFile);
  folder.write("run/metrics.jsonl", "{\"step\":1,\"loss\":2.5}\n{\"step\":2,\"test_loss\":1.5}\n");
  Inspection found = inspect((folder.path() / "run").string());
  EXPECT_EQ(found.kind, "run folder");
  EXPECT_EQ(value(found, "last step"), "2");
  EXPECT_EQ(value(found, "last loss"), "2.5");
  EXPECT_EQ(value(found, "checkpoints"), "none");
}

TEST(Inspect, KnowsACheckpointItsFilesAndWhenItIsDamaged) {
  TemporaryFolder folder;
  Snapshot snapshot{
      .step = 7, .meta_json = "{\"seed\":5}", .tensors = {{"fc.weight", {{2, 3}, DType::f32}}}};
  snapshot.read = [](std::size_t, std::span<std::byte> bytes) {
    std::ranges::fill(bytes, std::byte{0});
  };
  save_checkpoint(folder.path(), snapshot);
  std::filesystem::path checkpoint = folder.path() / "step-7";
  Inspection found = inspect(checkpoint.string());
  EXPECT_EQ(found.kind, "checkpoint");
  EXPECT_EQ(value(found, "step"), "7");
  EXPECT_EQ(value(found, "seed"), "5");
  ASSERT_EQ(found.rows.size(), 2u);
  EXPECT_EQ(found.rows[1][1], "f32[2,3]");

  std::string file = (checkpoint / "model.safetensors").string();
  EXPECT_EQ(inspect(file).kind, "safetensors file");
  EXPECT_EQ(value(inspect(file), "elements"), "6");
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(-1, std::ios::end)
      << 'x';
  EXPECT_THROW(inspect(checkpoint.string()), Error);
}

TEST(Inspect, KnowsArraysByTheirFirstBytes) {
  TemporaryFolder folder;
  Inspection idx = inspect(folder.write("labels", idx_array(5)));
  EXPECT_EQ(idx.kind, "IDX array");
  EXPECT_EQ(value(idx, "shape"), "[5]");
  Inspection npy = inspect(folder.write("x", npy_array()));
  EXPECT_EQ(npy.kind, "npy array");
  EXPECT_EQ(value(npy, "element"), "f32");
  EXPECT_EQ(value(npy, "shape"), "[2,3]");
}

TEST(Inspect, KnowsDataSetsByUriAndByContent) {
  EXPECT_EQ(value(inspect("digits:test"), "samples"), "2,000");
  TemporaryFolder folder;
  Inspection text = inspect(folder.write("tale", std::string(500, 'a') + "bc"));
  EXPECT_EQ(text.kind, "data set");
  EXPECT_EQ(value(text, "vocabulary"), "3");
  std::string cifar(2 * 3073, '\0');
  EXPECT_EQ(value(inspect(folder.write("batch.bin", cifar)), "samples"), "2");
}

TEST(Inspect, KnowsPlansAndCosts) {
  TemporaryFolder folder;
  Inspection plan = inspect(
      folder.write("plan.json",
                   R"({"format":"troika plan 1","model":"lenet","model_hash":"00","micro_batches":2,
                                             "splits":{"fc1":{"degrees":{"n":2},"devices":[0,1]}}})"));
  EXPECT_EQ(plan.kind, "plan");
  EXPECT_EQ(value(plan, "micro-batches"), "2");
  EXPECT_EQ(plan.rows.at(1).at(1), "{n: 2}");
  const std::string kernel = R"({"algorithm":"x","layouts":[],"scratch":0})";
  Inspection costs =
      inspect(folder.write("c.json", R"({"format":"troika costs 2","device":"cpu","hash":"7",
      "kernels":{"a":[)" + kernel + "," + kernel +
                                         "]}}"));
  EXPECT_EQ(costs.kind, "cost file");
  EXPECT_EQ(value(costs, "candidates"), "2");
  Inspection two = inspect(folder.write("two.json", R"({"format":"troika costs 3","hash":"7",
      "devices":{"cpu":{"kernels":{"a":[)" + kernel + R"(]}},
                 "gpu":{"kernels":{"a":[)" + kernel + "," +
                                                        kernel + "]}}}}"));
  EXPECT_EQ(value(two, "rows"), "2");
  EXPECT_EQ(value(two, "candidates"), "3");
  Inspection timed = inspect(folder.write("timed.json", R"({"format":"troika costs 4","hash":"7",
      "devices":{"cpu":{"made_by":"a processor",
        "memory_rates":[{"devices":1,"bytes_per_second":20000000000}],
        "kernels":{"linear{out=1} forward f32[4,3]":[
          {"algorithm":"x","layouts":[],"scratch":0,"nanoseconds":100,
           "measured":{"spread":3,"repeats":9,"date":"2026-01-31T12:00:00Z","devices":4,
                       "at_once":2}}]}}}})"));
  EXPECT_EQ(value(timed, "made by"), "a processor");
  EXPECT_EQ(value(timed, "measured"), "2026-01-31T12:00:00Z to 2026-01-31T12:00:00Z");
  EXPECT_EQ(value(timed, "launches"), "9, median spread 3.00 %");
  EXPECT_EQ(value(timed, "devices at once"), "2");
  EXPECT_EQ(value(timed, "memory, 1 at once"), "20.0 GB/s each");
  LinkCosts measured = assumed_link_costs();
  measured.process = {.alpha = 123, .beta = 0.5, .origin = "two threads"};
  Inspection links = inspect(folder.write("l.json", to_json(measured)));
  EXPECT_EQ(links.kind, "link costs");
  EXPECT_EQ(value(links, "source"), "assumed");
  EXPECT_EQ(links.rows.at(1), (std::vector<std::string>{"process", "123 ns", "2.00 GB/s", "free",
                                                        "0", "two threads"}));
}

TEST(Inspect, ShowsAWholePlan) {
  TemporaryFolder folder;
  Inspection plan = inspect(folder.write("p.json", R"({"format": "troika plan 1",
    "machine": {"devices": 8, "nodes": 2, "kinds": ["fast", "slow"]}, "micro_batches": 1,
    "sync": {"sliced_update": true, "bucket": 1024, "algorithms": "ring:0-max"},
    "splits": {"conv": {"degrees": {"h": 2, "n": 2}, "replicas": 2, "weights": {"n": [1, 3]},
                        "devices": [0, 1, 2, 3, 6, 7, 0, 5]},
               "pool": {"degrees": {}, "devices": [4]}}})"));
  EXPECT_EQ(value(plan, "model"), "any");
  EXPECT_EQ(value(plan, "machine"), "devices 8, nodes 2, kind fast; slow");
  EXPECT_EQ(value(plan, "devices used"), "8");
  EXPECT_EQ(value(plan, "sync"),
            "sliced update, buckets of 1.0 KiB, overlapping, updates during "
            "the next forward pass, urgent messages first, ring:0-max");
  EXPECT_THAT(plan.rows.at(1),
              testing::ElementsAre("conv", "{h: 2, n: 2 (1, 3)}", "2", "0-3, 6-7, 0, 5"));
  EXPECT_THAT(plan.rows.at(2), testing::ElementsAre("pool", "whole", "1", "4"));
}

TEST(Inspect, ShowsThePlacesOfAView) {
  TemporaryFolder folder;
  Inspection plan = inspect(folder.write("p.json", R"({"format": "troika plan 2", "model": "gpt2",
    "model_options": {"layers": 3}, "global_batch": 64, "optimizer": {"name": "adam", "beta1": 0.8},
    "sync": {"buckets": [["a", "b"], ["c"]]},
    "splits": {"fc": {"factors": [{"n": 4}, {"o": 2, "weights": [1, 3]}, {"replicas": 2}]},
               "loss": {"first": 3},
               "some": {"factors": [{"n": 2, "stride": 4}, {"n": 3, "stride": 0}], "first": 1}}})"));
  EXPECT_EQ(value(plan, "model"), "gpt2");
  EXPECT_EQ(value(plan, "model_hash"), "none");
  EXPECT_EQ(value(plan, "model options"), "layers = 3");
  EXPECT_EQ(value(plan, "global batch"), "64");
  EXPECT_EQ(value(plan, "optimizer"), "name = adam, beta1 = 0.8");
  EXPECT_EQ(value(plan, "devices used"), "16");
  EXPECT_THAT(value(plan, "sync"), HasSubstr(", 2 listed buckets,"));
  EXPECT_THAT(plan.rows.at(1), testing::ElementsAre("fc", "{n: 4, o: 2 (1, 3)}", "2", "0-15"));
  EXPECT_THAT(plan.rows.at(2), testing::ElementsAre("loss", "whole", "1", "3"));
  EXPECT_THAT(plan.rows.at(3),
              testing::ElementsAre("some", "{n: 2 stride 4, n: 3 stride 0}", "1", "1, 5"));
}

/// Data parallel over two devices, for a model in a batch of 8.
Strategy plan_for(const std::string& name, const zoo::Samples& samples = {.batch = 8}) {
  Graph graph = zoo::build({.name = name, .samples = samples}).graphs.front().graph;
  Machine machine;
  machine.devices.resize(2);
  Strategy plan = data_parallel(graph, machine);
  plan.made_for = planned_model(graph);
  plan.made_for->name = name;
  plan.made_for_batch = samples.batch;
  return plan;
}

std::string carried(const std::string& plan) { return value(inspect(plan), "carried updates"); }

TEST(Inspect, SaysWhichUpdatesAPlanCarriesAndWhyNotTheOthers) {
  TemporaryFolder folder;
  Strategy plan = plan_for("lenet");
  EXPECT_EQ(carried(folder.write("all.json", to_json(plan))), "10 of 10 into the next step");
  ASSERT_EQ(plan.splits.erase("fc4"), 1u);
  EXPECT_EQ(carried(folder.write("one.json", to_json(plan))),
            "9 of 10 into the next step; not carried: fc4.weight: no message brings the gradient");
  plan.sync.carry_updates = false;
  EXPECT_EQ(carried(folder.write("off.json", to_json(plan))),
            "0 of 10 into the next step; not carried: conv1.weight, conv1.bias, conv2.weight and 7 "
            "others: 'carry_updates' is off");
}

TEST(Inspect, KnowsTheUpdatesOfLayersWhoseChunksListTheirDevices) {
  TemporaryFolder folder;
  Strategy plan = plan_for("rnnlm");
  plan.splits["lstm.0"] = {.devices = {DeviceId(0u), DeviceId(1u)}, .chunks = 2};
  EXPECT_THAT(carried(folder.write("plan.json", to_json(plan))), HasSubstr("into the next step"));
}

TEST(Inspect, SaysWhyItDoesNotKnowWhichUpdatesAPlanCarries) {
  TemporaryFolder folder;
  Strategy plan = plan_for("lenet");
  plan.made_for->hash = "00";
  EXPECT_EQ(carried(folder.write("other.json", to_json(plan))),
            "not known: the plan was made for samples that only its run folder knows");
  plan.made_for_batch.reset();
  EXPECT_EQ(carried(folder.write("batch.json", to_json(plan))),
            "not known: the plan does not say which global batch it is for");
  plan.made_for.reset();
  EXPECT_EQ(carried(folder.write("any.json", to_json(plan))), "no fact carried updates");
}

TEST(Inspect, TakesTheSamplesAndFrozenParametersOfAPlanFromItsRunFolder) {
  TemporaryFolder folder;
  folder.write("data.csv", "a,b,c,label\n1,2,3,x\n4,5,6,y\n7,8,9,x\n");
  std::string file = folder.write(
      "run.toml",
      "[model]\nname = \"mlp\"\n[data]\ntrain = \"csv:data.csv\"\n[train]\nglobal_batch = 8\n"
      "steps = 1\nfreeze = [\"*.bias\"]\n[optimizer]\nname = \"sgd\"\n");
  RunConfig config = load_run(file);
  zoo::Samples samples = samples_of(open_sets(config).train->encoding(), config, 8);
  std::string plan = to_json(plan_for("mlp", samples));
  EXPECT_EQ(carried(folder.write("plan.json", plan)), "3 of 3 into the next step");
  EXPECT_THAT(carried(folder.write("elsewhere/plan.json", plan)), HasSubstr("not known"));
}

TEST(Inspect, KnowsAClusterFile) {
  TemporaryFolder folder;
  Inspection cluster = inspect(folder.write("any.toml", std::string(cluster_template())));
  EXPECT_EQ(cluster.kind, "cluster file");
  EXPECT_EQ(value(cluster, "devices"), "32");
  EXPECT_EQ(value(cluster, "inside the first node"), "300 GB/s, 2.0 us over 2 links");
  EXPECT_EQ(value(cluster, "first to last node"), "12.5 GB/s, 22.0 us over 6 links");
  EXPECT_THAT(cluster.rows.at(1), testing::ElementsAre("gpu", "8", "4", "1", "cuda sm90",
                                                       "80.0 GiB", "40 Tflops", "3 TB/s"));
}

TEST(Inspect, RefusesWhatItDoesNotKnow) {
  TemporaryFolder folder;
  std::string file = folder.write("noise", std::string("\x01\xff\xfe\x00\x80", 5));
  EXPECT_THAT([&] { inspect(file); }, ThrowsMessage<Error>(HasSubstr("unknown kind")));
  EXPECT_THAT([&] { inspect(folder.write("nothing", "")); },
              ThrowsMessage<Error>(HasSubstr("an empty file")));
  EXPECT_THAT([&] { inspect(folder.write("bad.json", "{\"a\":")); },
              ThrowsMessage<Error>(HasSubstr("it is not JSON at line 1")));
  EXPECT_THAT([&] { inspect(folder.write("bad.jsonl", "{}\nno\n")); },
              ThrowsMessage<Error>(HasSubstr("bad.jsonl:2: error")));
}

}  // namespace
}  // namespace troika::cli
