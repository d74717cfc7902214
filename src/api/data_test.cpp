// Public sources and the checks of options.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <troika/data.h>
#include <troika/error.h>
#include <troika/optim.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "data/dataset.h"

namespace troika {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// The public one of the two functions that this source sees.
data::Source open(const std::string& name, const data::SourceOptions& options = {}) {
  return data::open(name, options);
}

data::MemorySamples two_samples() {
  return {.shape = {2}, .inputs = {1, 2, 3, 4}, .targets = {0, 4}};
}

/// A file in the folder for temporary files, removed at the end.
class SmallFile {
 public:
  SmallFile(const std::string& name, const std::string& content)
      : path_(testing::TempDir() + "troika-data-" + std::to_string(::getpid()) + name) {
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~SmallFile() { std::filesystem::remove(path_); }
  SmallFile(const SmallFile&) = delete;
  SmallFile& operator=(const SmallFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Two features, and a price to predict.
constexpr const char* kHouses =
    "area,age,price\n100,5,310000.5\n150,20,420000\n60,50,120000\n80,2,290000\n";

std::string npy_floats(std::int64_t rows) {
  std::string header =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ", 1), }";
  header.resize(117, ' ');
  header += '\n';
  return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header +
         std::string(static_cast<std::size_t>(rows) * sizeof(float), '\0');
}

/// One sample of two features and a number to predict.
struct Row {
  std::array<float, 2> input{};
  std::array<float, 1> target{};
};
Row read_row(const data::Source& source, std::int64_t index) {
  Row row;
  std::array<std::span<std::byte>, 2> fields{std::as_writable_bytes(std::span(row.input)),
                                             std::as_writable_bytes(std::span(row.target))};
  source.dataset()->read({.index = index}, fields);
  return row;
}

TEST(PublicData, OpensByName) {
  data::Source source = open("digits:train?size=50");
  EXPECT_EQ(source.size(), 50);
  EXPECT_EQ(source.classes(), 10);
  EXPECT_THAT(source.shape(), ElementsAre(1, 28, 28));
  EXPECT_THAT([] { open("digit:train"); },
              ThrowsMessage<Error>(HasSubstr("unknown scheme 'digit'")));
}

TEST(PublicData, NormalizesATestSetLikeItsTrainingSet) {
  data::Source train = open("digits:train?size=50");
  data::Source alone = open("digits:test?size=50");
  data::Source like = open("digits:test?size=50", {.like = train});
  EXPECT_EQ(*like.dataset()->normalization(), *train.dataset()->normalization());
  EXPECT_NE(*alone.dataset()->normalization(), *train.dataset()->normalization());
}

TEST(PublicData, ReadsSamplesFromMemory) {
  data::Source source = data::in_memory(two_samples());
  EXPECT_EQ(source.size(), 2);
  EXPECT_EQ(source.classes(), 5);
  std::array<float, 2> input{};
  std::array<std::int32_t, 1> target{};
  std::array<std::span<std::byte>, 2> fields{std::as_writable_bytes(std::span(input)),
                                             std::as_writable_bytes(std::span(target))};
  source.dataset()->read({.index = 1}, fields);
  EXPECT_THAT(input, ElementsAre(3, 4));
  EXPECT_THAT(target, ElementsAre(4));
}

TEST(PublicData, NumbersHaveNoClasses) {
  EXPECT_EQ(
      data::in_memory({.shape = {1}, .inputs = {1, 2}, .classes = 5, .numbers = {3, 4}}).classes(),
      0);
}

TEST(PublicData, HoldsSamplesOut) {
  auto [train, validation] = data::hold_out(data::in_memory(two_samples()), "[0:1]");
  EXPECT_EQ(train.size(), 1);
  EXPECT_EQ(validation.size(), 1);
  EXPECT_EQ(data::hold_out(open("digits:train?size=50"), "10%").validation.size(), 5);
  EXPECT_THAT([] { data::hold_out(data::in_memory(two_samples()), "half"); },
              ThrowsMessage<Error>(HasSubstr("\"half\" is not a part")));
}

TEST(PublicData, PartsKeepTheWindowOfTheirSource) {
  SmallFile numbers("window.npy", npy_floats(40));
  data::Source whole = open("npy:" + numbers.path() + "," + numbers.path() + "?window=8");
  EXPECT_EQ(whole.dataset()->window(), 8);
  auto [train, validation] = data::hold_out(whole, "[0:16]");
  EXPECT_EQ(train.dataset()->window(), 8);
  EXPECT_EQ(validation.dataset()->window(), 8);
  EXPECT_THAT([&] { data::hold_out(whole, "10%"); },
              ThrowsMessage<Error>(HasSubstr("a set with window= is read in long pieces")));
}

TEST(PublicData, MemoryIsEncodedLikeAFile) {
  SmallFile houses("like.csv", kHouses);
  data::Source train = open("csv:" + houses.path());
  data::Source file = open("csv:" + houses.path(), {.like = train});
  data::Source memory = data::in_memory({.shape = {2}, .inputs = {100, 5, 150, 20}, .like = train});
  for (std::int64_t row : {0, 1})
    EXPECT_EQ(read_row(memory, row).input, read_row(file, row).input) << row;
  data::Source with_price =
      data::in_memory({.shape = {2}, .inputs = {150, 20}, .numbers = {420000}, .like = train});
  EXPECT_EQ(read_row(with_price, 0).target, read_row(file, 1).target);
  EXPECT_THAT(
      [&] {
        data::in_memory({.shape = {2}, .inputs = {150, 20}, .targets = {1}, .like = train});
      },
      ThrowsMessage<Error>(HasSubstr("trained on samples with 'target' f32[1]")));
}

TEST(PublicData, NumbersToPredictAreNormalised) {
  SmallFile houses("numbers.csv", kHouses);
  data::Source file = open("csv:" + houses.path());
  data::Source memory = data::in_memory({.shape = {2},
                                         .inputs = {100, 5, 150, 20, 60, 50, 80, 2},
                                         .numbers = {310000.5F, 420000, 120000, 290000}});
  for (std::int64_t row : {0, 1, 2, 3}) {
    EXPECT_LT(std::abs(read_row(file, row).target[0]), 2) << row;
    EXPECT_EQ(read_row(memory, row).target, read_row(file, row).target) << row;
  }
  data::Source plain = open("csv:" + houses.path(), {.normalize_targets = false});
  EXPECT_EQ(read_row(plain, 1).target[0], 420000);
}

TEST(PublicData, RefusesSamplesThatDoNotFitEachOther) {
  auto with = [](auto change) {
    data::MemorySamples samples = two_samples();
    change(samples);
    return [samples] { data::in_memory(samples); };
  };
  auto refused = [](const char* sentence) { return ThrowsMessage<Error>(HasSubstr(sentence)); };
  EXPECT_THAT(with([](auto& samples) { samples.inputs.pop_back(); }),
              refused("'inputs' has 3 numbers, which do not fill"));
  EXPECT_THAT(with([](auto& samples) { samples.targets[0] = -1; }), refused("range from -1 to 4"));
  EXPECT_THAT(with([](auto& samples) { samples.classes = 4; }), refused("[0, 4)"));
  EXPECT_THAT(with([](auto& samples) { samples.shape = {0}; }), refused("shape [0]"));
  EXPECT_THAT(with([](auto& samples) { samples = {}; }), refused("set 'shape'"));
  EXPECT_THAT(with([](auto& samples) { samples.inputs = {}; }),
              refused("do not fill one or more inputs"));
  EXPECT_THAT(with([](auto& samples) { samples.targets = {}; }),
              refused("set either 'targets' or 'numbers'"));
  EXPECT_THAT(with([](auto& samples) {
                samples.numbers = {1, 2};
              }),
              refused("set either 'targets' or 'numbers'"));
  EXPECT_THAT(with([](auto& samples) {
                samples.targets = {};
                samples.numbers = {1, 2, 3};
              }),
              refused("not a multiple of the 2 inputs"));
  EXPECT_THAT(with([](auto& samples) {
                samples.targets = {};
                samples.like = open("digits:train?size=10");
              }),
              refused("not like those trained on"));
  EXPECT_THAT(with([](auto& samples) { samples.shape = {1L << 40, 1L << 40}; }), refused("shape"));
}

TEST(PublicOptimizer, KeepsItsOptions) {
  optim::Optimizer made = optim::lamb({.learning_rate = 0.5, .beta2 = 0.9, .weight_decay = 0.1});
  EXPECT_EQ(made.kind, optim::Kind::lamb);
  EXPECT_EQ(made.learning_rate, 0.5);
  EXPECT_EQ(made.beta2, 0.9);
  EXPECT_EQ(made.weight_decay, 0.1);
  EXPECT_EQ(made.epsilon, 1e-6);
}

TEST(PublicOptimizer, RefusesNumbersThatMakeNoSense) {
  EXPECT_THROW(optim::sgd({.learning_rate = -1}), Error);
  EXPECT_THROW(optim::sgd({.learning_rate = NAN}), Error);
  EXPECT_THROW(optim::sgd({.momentum = 1}), Error);
  EXPECT_THROW(optim::sgd({.nesterov = true}), Error);
  EXPECT_THROW(optim::adam({.beta1 = 1.5}), Error);
  EXPECT_THROW(optim::adam({.schedule = optim::CosineOptions{.warmup = 1}}), Error);
  EXPECT_THROW(optim::adam({.groups = {{.match = ""}}}), Error);
}

}  // namespace
}  // namespace troika
