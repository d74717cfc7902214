#include "data/loader.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <map>
#include <set>

#include "data/testing/allocations.h"
#include "data/testing/file_fixture.h"

namespace troika::data {
namespace {

/// Sample i has the input (i, epoch) and the target i; reading sample `bad_at` fails, `delay` slows
/// it down.
class Numbered final : public Dataset {
 public:
  explicit Numbered(std::int64_t size) : size_(size) {}
  std::int64_t size() const override { return size_; }
  const Encoding& encoding() const override { return encoding_; }
  bool is_slow() const override { return is_slow_to_read; }
  std::int64_t window() const override { return shuffled_within; }
  void will_read(Range samples) const override {
    for (std::int64_t i = samples.begin; i < samples.end; ++i) ++announced[i];
  }
  void read(Sample sample, std::span<const std::span<std::byte>> fields) const override {
    if (delay.count() > 0) std::this_thread::sleep_for(delay);
    if (sample.index == bad_at) throw Error(ErrorKind::file, "sample is damaged");
    ++reads;
    if (shuffled_within > 0) unannounced += --announced[sample.index] < 0 ? 1 : 0;
    auto* input = reinterpret_cast<float*>(fields[0].data());
    input[0] = static_cast<float>(sample.index);
    input[1] = static_cast<float>(sample.epoch);
    *reinterpret_cast<std::int32_t*>(fields[1].data()) = static_cast<std::int32_t>(sample.index);
  }

  std::int64_t bad_at = -1;
  bool is_slow_to_read = false;
  std::chrono::milliseconds delay{0};
  mutable std::atomic<int> reads{0};
  std::int64_t shuffled_within = 0;
  // How often each sample was announced and not read since; touched by the loader's thread alone.
  mutable std::map<std::int64_t, int> announced{};
  mutable std::atomic<int> unannounced{0};

 private:
  std::int64_t size_;
  Encoding encoding_{.fields = {{"input", {{2}, DType::f32}}, {"target", {{}, DType::i32}}},
                     .classes = size_};
};

std::vector<std::int32_t> targets(const Batch& batch) {
  auto span = batch["target"].as<std::int32_t>();
  return {span.begin(), span.end()};
}

TEST(Loader, ReadsOnlyTheRowsItIsAskedForAndPutsTheSameSamplesIntoThem) {
  Numbered all_set(40), half_set(40), none_set(40);
  Loader all(all_set, {.batch = 8, .seed = 3, .ahead = 1});
  Loader half(half_set, {.batch = 8, .seed = 3, .ahead = 1, .rows = Range{2, 6}});
  Loader none(none_set, {.batch = 8, .seed = 3, .ahead = 1, .rows = Range{0, 0}});
  for (int step = 0; step < 7; ++step) {
    std::vector<std::int32_t> whole = targets(*all.next());
    const Batch& part = *half.next();
    EXPECT_EQ(part.first_row, 2);
    EXPECT_EQ(part.samples, 8);
    EXPECT_EQ(targets(part), std::vector(whole.begin() + 2, whole.begin() + 6));
    EXPECT_EQ(targets(*none.next()).size(), 0u);
  }
  EXPECT_GE(half_set.reads, 7 * 4);
  EXPECT_LE(half_set.reads, 9 * 4) << "with what is made ahead";
  EXPECT_EQ(none_set.reads, 0);
}

TEST(Loader, PadsTheRowsOfAnEvaluationThatHaveNoSample) {
  Numbered set(6);
  Loader loader(set, {.batch = 4, .purpose = Purpose::evaluate, .rows = Range{1, 4}});
  EXPECT_EQ(targets(*loader.next()), (std::vector<std::int32_t>{1, 2, 3}));
  const Batch& last = *loader.next();
  EXPECT_EQ(last.samples, 2);
  EXPECT_EQ(targets(last), (std::vector<std::int32_t>{5, 0, 0}));
  auto weights = last["weight"].as<float>();
  EXPECT_EQ(std::vector(weights.begin(), weights.end()), (std::vector<float>{1, 0, 0}));
  EXPECT_EQ(loader.next(), nullptr);
}

TEST(Loader, GivesContiguousBatchesInTheSamplersOrder) {
  Numbered set(10);
  Loader loader(set, {.batch = 4, .seed = 3});
  Sampler sampler(10, {.seed = 3});
  for (std::int64_t step = 0; step < 8; ++step) {
    const Batch& batch = *loader.next();
    EXPECT_EQ(batch["input"].spec(), (TensorSpec{{4, 2}, DType::f32}));
    EXPECT_EQ(batch["target"].spec(), (TensorSpec{{4}, DType::i32}));
    EXPECT_EQ(batch["weight"].spec(), (TensorSpec{{4}, DType::f32}));
    EXPECT_EQ(batch.first_position, step * 4);
    EXPECT_EQ(batch.epoch, step * 4 / 10);
    EXPECT_EQ(batch.samples, 4);
    for (std::int64_t row = 0; row < 4; ++row) {
      Sample expected = sampler.at(step * 4 + row);
      auto at = static_cast<std::size_t>(row);
      EXPECT_EQ(batch["input"].as<float>()[2 * at], static_cast<float>(expected.index));
      EXPECT_EQ(batch["input"].as<float>()[2 * at + 1], static_cast<float>(expected.epoch));
      EXPECT_EQ(batch["target"].as<std::int32_t>()[at], expected.index);
      EXPECT_EQ(batch["weight"].as<float>()[at], 1.0F);
    }
  }
}

TEST(Loader, GoesOnExactlyFromACursor) {
  Numbered set(23);
  Loader whole(set, {.batch = 5});
  for (int step = 0; step < 7; ++step) whole.next();
  Loader resumed(set, {.batch = 5, .position = whole.cursor()});
  for (int step = 0; step < 20; ++step) EXPECT_EQ(targets(*whole.next()), targets(*resumed.next()));
}

TEST(Loader, AnnouncesEachSampleOfAWindowOnceBeforeItIsRead) {
  constexpr std::int64_t kSize = 1003, kWindow = 100, kBatch = 7;
  for (std::int64_t position : {0, 350, 2 * 1003 + 990}) {
    Numbered set(kSize);
    set.shuffled_within = kWindow;
    {
      Loader loader(set, {.batch = kBatch, .position = position, .ahead = 1});
      for (int step = 0; step < 400; ++step) loader.next();
    }
    EXPECT_EQ(set.unannounced, 0);
    int waiting = 0;
    for (const auto& [sample, times] : set.announced) waiting += times;
    EXPECT_LE(waiting, 2 * kWindow + kBatch) << "two windows are in memory at most";
  }
}

TEST(Loader, AnnouncesASetThatIsSmallerThanItsWindow) {
  constexpr std::int64_t kSize = 103, kBatch = 7;
  for (std::int64_t window : {std::int64_t{1'000'000}, std::numeric_limits<std::int64_t>::max()}) {
    Numbered set(kSize);
    set.shuffled_within = window;
    {
      Loader loader(set, {.batch = kBatch, .position = 150, .ahead = 1});
      for (int step = 0; step < 60; ++step) loader.next();
    }
    EXPECT_EQ(set.unannounced, 0);
    int waiting = 0;
    for (const auto& [sample, times] : set.announced) waiting += times;
    EXPECT_LE(waiting, 2 * kSize + kBatch);
  }
}

TEST(Loader, AnnouncesNothingIfItReadsNoRows) {
  Numbered set(1003);
  set.shuffled_within = 100;
  {
    Loader loader(set, {.batch = 7, .ahead = 1, .rows = Range{0, 0}});
    for (int step = 0; step < 40; ++step) loader.next();
  }
  EXPECT_TRUE(set.announced.empty());
}

TEST(Loader, ResumesInTheMiddleOfAWindow) {
  Numbered set(230);
  set.shuffled_within = 64;
  Loader whole(set, {.batch = 5});
  for (int step = 0; step < 60; ++step) whole.next();
  Numbered same(230);
  same.shuffled_within = 64;
  Loader resumed(same, {.batch = 5, .position = whole.cursor()});
  for (int step = 0; step < 60; ++step) EXPECT_EQ(targets(*whole.next()), targets(*resumed.next()));
}

TEST(Loader, EvaluatesEverySampleOnceAndPadsWithWeightZero) {
  Numbered set(10);
  for (DType floating : {DType::f32, DType::f64}) {
    Loader loader(set, {.batch = 4, .purpose = Purpose::evaluate, .floating = floating});
    EXPECT_EQ(targets(*loader.next()), (std::vector<std::int32_t>{0, 1, 2, 3}));
    EXPECT_EQ(targets(*loader.next()), (std::vector<std::int32_t>{4, 5, 6, 7}));
    const Batch& last = *loader.next();
    EXPECT_EQ(last.samples, 2);
    EXPECT_EQ(targets(last), (std::vector<std::int32_t>{8, 9, 0, 0}));
    std::vector<double> weights;
    if (floating == DType::f32)
      for (float weight : last["weight"].as<float>()) weights.push_back(weight);
    else
      for (double weight : last["weight"].as<double>()) weights.push_back(weight);
    EXPECT_EQ(weights, (std::vector<double>{1, 1, 0, 0}));
    EXPECT_EQ(loader.next(), nullptr);
    EXPECT_EQ(loader.next(), nullptr);
  }
}

TEST(Loader, PadsWhereAnEarlierBatchOfTheRingWasFull) {
  Numbered set(9);
  Loader loader(set, {.batch = 2, .purpose = Purpose::evaluate, .ahead = 1});
  for (int step = 0; step < 4; ++step) loader.next();
  const Batch& last = *loader.next();
  EXPECT_EQ(last["weight"].as<float>()[1], 0.0F);
  EXPECT_EQ(last["input"].as<float>()[2], 0.0F);
}

TEST(Loader, WidensFloatingFields) {
  auto set = open("digits:train?size=20");
  Loader narrow(*set, {.batch = 8});
  Loader wide(*set, {.batch = 8, .floating = DType::f64});
  for (int step = 0; step < 4; ++step) {
    const Batch& a = *narrow.next();
    const Batch& b = *wide.next();
    EXPECT_EQ(b["input"].spec(), (TensorSpec{{8, 1, 28, 28}, DType::f64}));
    EXPECT_TRUE(std::ranges::equal(a["input"].as<float>(), b["input"].as<double>()));
    EXPECT_EQ(targets(a), targets(b));
  }
}

TEST(Loader, WeighsEveryTokenOfASequence) {
  TemporaryFolder folder;
  auto set =
      open("text:" + folder.write("a.txt", "abcdefghijklmnopqrstuvwxyz"), {.sequence_length = 5});
  Loader loader(*set, {.batch = 4, .purpose = Purpose::evaluate});
  loader.next();
  const Batch& last = *loader.next();
  EXPECT_EQ(last["weight"].spec(), (TensorSpec{{4, 5}, DType::f32}));
  EXPECT_EQ(last["input"].spec(), (TensorSpec{{4, 5}, DType::i32}));
  auto weights = last["weight"].as<float>();
  EXPECT_EQ(std::count(weights.begin(), weights.end(), 1.0F), 5);
  EXPECT_EQ(weights[4], 1.0F);
  EXPECT_EQ(weights[5], 0.0F);
}

TEST(Loader, RethrowsWhatWentWrongAfterTheGoodBatches) {
  Numbered set(10);
  set.bad_at = 5;
  Loader loader(set, {.batch = 2, .purpose = Purpose::evaluate});
  EXPECT_EQ(targets(*loader.next()), (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(targets(*loader.next()), (std::vector<std::int32_t>{2, 3}));
  EXPECT_THROW(loader.next(), Error);
  EXPECT_THROW(loader.next(), Error) << "and again: nothing hangs";
}

TEST(Loader, SharesABatchAmongThreadsAndMakesTheSameOne) {
  Numbered set(50);
  set.is_slow_to_read = true;
  set.delay = std::chrono::milliseconds(1);
  for (DType floating : {DType::f32, DType::f64}) {
    Loader alone(set, {.batch = 12, .floating = floating, .seed = 3});
    Loader team(set, {.batch = 12, .floating = floating, .seed = 3, .threads = 4});
    for (int step = 0; step < 6; ++step) {
      const Batch &a = *alone.next(), &b = *team.next();
      for (std::size_t field = 0; field < a.fields.size(); ++field)
        EXPECT_TRUE(std::ranges::equal(a.fields[field].bytes(), b.fields[field].bytes()));
    }
  }
}

TEST(Loader, WithThreadsReadsWhileASlowSampleIsRead) {
  Numbered set(1000);
  set.is_slow_to_read = true;
  set.delay = std::chrono::milliseconds(10);
  Loader team(set, {.batch = 16, .ahead = 1, .threads = 8});
  team.next();
  EXPECT_LT(team.waited(), std::chrono::milliseconds(120)) << "one thread needs 160";
}

TEST(Loader, RethrowsTheSameErrorWithThreads) {
  Numbered set(10);
  set.is_slow_to_read = true;
  set.bad_at = 5;
  Loader loader(set, {.batch = 4, .purpose = Purpose::evaluate, .threads = 3});
  EXPECT_EQ(targets(*loader.next()), (std::vector<std::int32_t>{0, 1, 2, 3}));
  EXPECT_THROW(loader.next(), Error);
  EXPECT_THROW(loader.next(), Error);
}

TEST(Loader, NeverRunsFurtherAheadThanAsked) {
  Numbered set(1000);
  Loader loader(set, {.batch = 10, .ahead = 2});
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_LE(set.reads, 30) << "the ring holds three batches";
  loader.next();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_LE(set.reads, 30) << "the caller still holds the first";
}

TEST(Loader, LeavesABatchAloneUntilTheNextCall) {
  Numbered set(1000);
  Loader loader(set, {.batch = 10, .ahead = 1});
  for (int step = 0; step < 20; ++step) {
    const Batch& batch = *loader.next();
    auto before = targets(batch);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_EQ(targets(batch), before);
  }
}

TEST(Loader, AllocatesNothingPerBatchOnceItRuns) {
  auto set = open("digits:train?size=64", {.augment = {"crop 2"}});
  Loader loader(*set, {.batch = 16});
  for (int step = 0; step < 8; ++step) loader.next();
  reset_allocations();
  for (int step = 0; step < 100; ++step) loader.next();
  EXPECT_EQ(allocations().count, 0);
}

TEST(Loader, MeasuresTheTimeItsCallerWaited) {
  Numbered set(1000);
  set.delay = std::chrono::milliseconds(10);
  Loader loader(set, {.batch = 2});
  loader.next();
  EXPECT_GE(loader.waited(), std::chrono::milliseconds(15));
}

TEST(Loader, EndsInTheMiddleOfItsWork) {
  Numbered set(1000);
  set.delay = std::chrono::milliseconds(1);
  for (int i = 0; i < 5; ++i) Loader(set, {.batch = 5}).next();
  Loader never_asked(set, {.batch = 5});
}

TEST(Loader, AlignsItsBuffersToCacheLines) {
  Numbered set(10);
  Loader loader(set, {.batch = 3});
  for (const HostField& field : loader.next()->fields)
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(field.bytes().data()) % 64, 0U) << field.name();
}

TEST(Loader, RefusesAnEmptyBatch) {
  Numbered set(10);
  EXPECT_THROW(Loader(set, {.batch = 0}), Error);
  EXPECT_THROW(Loader(set, {.position = -1}), Error);
}

}  // namespace
}  // namespace troika::data
