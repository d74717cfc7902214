// Runs that do not fit into memory: the message, its table, and advice that works.
#include "setup/memory_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "taskgraph/memory_table.h"
#include "train/small_runs_test.h"

namespace troika {
namespace {

using testing::HasSubstr;
using testing::Not;

using Overrides = std::vector<std::string>;

/// A text model, or an image model with batch norm, whose shards micro-batches cannot divide.
RunConfig run_with(const Folder& folder, const Overrides& more, bool of_images = false) {
  Overrides overrides{"train.steps=1", "kernels.measure=false", "kernels.backend=reference"};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return of_images ? image_run("resnet18", overrides) : language_run(folder, overrides);
}

/// Returns the largest memory of a device.
Bytes held(const RunConfig& config) {
  auto training = make_training(config);
  Bytes most;
  for (const MemoryTable& table : memory_by_device(training->live().programs()))
    most = std::max(most, table.total());
  return most;
}

std::string memory_sentence(const RunConfig& config, ErrorKind& kind) {
  try {
    make_training(config);
  } catch (const Error& error) {
    kind = error.kind();
    return error.what();
  }
  return {};
}

std::string limit(Bytes bytes) { return "parallel.memory=" + std::to_string(bytes.count) + "B"; }

/// Returns the words between "would fit: " and " (", which are overrides of the run.
Overrides advised(const std::string& sentence) {
  const std::string before = "would fit: ";
  std::size_t begin = sentence.find(before);
  EXPECT_NE(begin, std::string::npos) << sentence;
  if (begin == std::string::npos) return {};
  begin += before.size();
  std::string text = sentence.substr(begin, sentence.find(" (", begin) - begin);
  Overrides words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) {
    if (word == "-n") {
      stream >> word;
      word = "parallel.devices=" + word;
    }
    words.push_back(word);
  }
  return words;
}

/// Gives the run less and less memory and follows the advice each time.
void expect_true_advice(const Folder& folder, Overrides base, const std::string& expected,
                        double part, bool of_images = false) {
  Bytes whole = held(run_with(folder, base, of_images));
  Bytes there{static_cast<std::int64_t>(part * static_cast<double>(whole.count))};
  base.push_back(limit(there));
  ErrorKind kind{};
  std::string sentence = memory_sentence(run_with(folder, base, of_images), kind);
  EXPECT_EQ(kind, ErrorKind::memory);
  EXPECT_THAT(sentence, HasSubstr("would hold " + to_string(whole)));
  EXPECT_THAT(sentence, HasSubstr("\n  optimizer "));
  EXPECT_THAT(sentence, HasSubstr("\n  fullest      at '"));
  EXPECT_THAT(sentence, HasSubstr(expected));
  Overrides words = advised(sentence);
  base.insert(base.end(), words.begin(), words.end());
  EXPECT_LE(held(run_with(folder, base, of_images)), there) << sentence;  // it starts, so it fits
}

const Overrides kTwoDevices{"parallel.plan=data", "parallel.devices=2"};

TEST(MemoryFit, UpdatesThatAreNotCarriedOverAreTheFirstAdvice) {
  Folder folder;
  Overrides base = kTwoDevices;
  base.push_back("train.global_batch=64");
  expect_true_advice(folder, base, "would fit: parallel.carry_updates=false (", 0.99);
}

TEST(MemoryFit, ASlicedUpdateIsTheNext) {
  Folder folder;
  Overrides base = kTwoDevices;
  base.insert(base.end(), {"train.global_batch=2", "parallel.carry_updates=false"});
  expect_true_advice(folder, base, "would fit: parallel.sliced_update=true (", 0.95);
}

TEST(MemoryFit, MicroBatchesComeThen) {
  Folder folder;
  expect_true_advice(folder, {"train.global_batch=64"}, "would fit: parallel.micro_batches=", 0.5);
}

TEST(MemoryFit, DevicesComeLastAndWithTheirPlan) {
  Folder folder;
  expect_true_advice(folder, {"train.global_batch=16"}, "would fit: -n 2 parallel.plan=data", 0.8,
                     true);
}

TEST(MemoryFit, WhatNeverFitsIsSaid) {
  Folder folder;
  ErrorKind kind{};
  EXPECT_THAT(memory_sentence(run_with(folder, {"parallel.memory=100B"}), kind),
              HasSubstr("use a smaller batch or model"));
  EXPECT_EQ(kind, ErrorKind::memory);
}

TEST(MemoryFit, TheAdviceForAPlanFileIsWordedAsItsKeys) {
  Folder folder;
  RunConfig config = run_with(folder, {"train.global_batch=64"});
  std::string path = (folder.path / "plan.json").string();
  std::ofstream(path) << to_json(Strategy::single());
  Bytes there{held(config).count / 2};
  ErrorKind kind{};
  std::string sentence = memory_sentence(
      run_with(folder, {"train.global_batch=64", "parallel.plan=" + path, limit(there)}), kind);
  EXPECT_THAT(sentence, HasSubstr("would fit: \"micro_batches\": "));
  EXPECT_THAT(sentence, HasSubstr(" of " + path));
  EXPECT_THAT(sentence, Not(HasSubstr("parallel.micro_batches")));
}

TEST(MemoryFit, EvaluationAndLaterBatchesCount) {
  Folder folder;
  const Overrides plain{"train.global_batch=4", "train.steps=8"};
  Overrides larger = plain, tested = plain;
  larger.insert(larger.end(),
                {"train.batch_schedule={ factor = 4, every = \"0.1 epochs\", limit = 16 }"});
  tested.push_back("data.test=" + run_with(folder, {}).data.train);
  Bytes alone = held(run_with(folder, plain));
  EXPECT_GT(held(run_with(folder, larger)), alone);
  EXPECT_GE(held(run_with(folder, tested)), alone);
  larger.push_back(limit(alone));
  ErrorKind kind{};
  EXPECT_THAT(memory_sentence(run_with(folder, larger), kind), HasSubstr("but it has"));
  EXPECT_EQ(kind, ErrorKind::memory);
}

}  // namespace
}  // namespace troika
