#include "data/held_out.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.h"

namespace troika::data {
namespace {

using testing::HasSubstr;

/// A set whose samples are their own numbers, or a running text of such samples.
class Numbers final : public Dataset {
 public:
  explicit Numbers(std::int64_t size, bool is_text = false) : size_(size) {
    encoding_.fields = {
        {"input", {is_text ? Shape{1} : Shape{}, is_text ? DType::i32 : DType::f32}}};
    if (is_text) encoding_.fields.push_back({"target", {{1}, DType::i32}});
  }
  std::int64_t size() const override { return size_; }
  const Encoding& encoding() const override { return encoding_; }
  void read(Sample sample, std::span<const std::span<std::byte>> fields) const override {
    elements_of<std::int32_t>(fields[0])[0] = static_cast<std::int32_t>(sample.index);
  }
  bool is_slow() const override { return true; }
  std::int64_t window() const override { return shuffled_within; }
  void will_read(Range samples) const override { announced.push_back(samples); }

  std::int64_t shuffled_within = 0;
  mutable std::vector<Range> announced{};

 private:
  std::int64_t size_;
  Encoding encoding_;
};

std::vector<std::int32_t> samples_of(const Dataset& set) {
  std::vector<std::int32_t> seen;
  for (std::int64_t i = 0; i < set.size(); ++i) {
    std::int32_t values[2]{};
    std::vector<std::span<std::byte>> fields{std::as_writable_bytes(std::span(&values[0], 1)),
                                             std::as_writable_bytes(std::span(&values[1], 1))};
    set.read({i, 0}, std::span(fields).first(set.fields().size()));
    seen.push_back(values[0]);
  }
  return seen;
}

HeldOut split(std::string_view part, std::int64_t size, bool is_text = false) {
  return hold_out(
      part, {std::make_unique<Numbers>(size, is_text), std::make_unique<Numbers>(size, is_text)});
}

TEST(HoldOut, ASetWithAWindowKeepsItAndRefusesAShare) {
  auto views = [] {
    auto augmented = std::make_unique<Numbers>(1000);
    augmented->shuffled_within = 100;
    return TrainingViews{std::move(augmented), std::make_unique<Numbers>(1000)};
  };
  TrainingViews kept = views();
  const auto& whole = static_cast<const Numbers&>(*kept.augmented);
  HeldOut parts = hold_out("[200:300]", std::move(kept));
  EXPECT_EQ(parts.train->window(), 100);
  parts.train->will_read({250, 260});
  EXPECT_THAT(whole.announced, testing::ElementsAre(Range{350, 360}));
  try {
    hold_out("10%", views());
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("give a range such as"));
  }
}

TEST(HoldOut, AnnouncesNoSampleOfTheOtherPart) {
  TrainingViews views{std::make_unique<Numbers>(1000), std::make_unique<Numbers>(1000)};
  const auto& train = static_cast<const Numbers&>(*views.augmented);
  const auto& plain = static_cast<const Numbers&>(*views.plain);
  HeldOut parts = hold_out("[200:300]", std::move(views));
  parts.train->will_read({190, 220});
  parts.train->will_read({180, 200});
  EXPECT_THAT(train.announced,
              testing::ElementsAre(Range{190, 200}, Range{300, 320}, Range{180, 200}));
  parts.held_out->will_read({0, 100});
  EXPECT_THAT(plain.announced, testing::ElementsAre(Range{200, 300}));
}

TEST(HoldOut, AShareTakesSamplesFromEverywhereAndEverySampleOnce) {
  HeldOut parts = split("10%", 1000);
  std::vector<std::int32_t> held_out = samples_of(*parts.held_out),
                            train = samples_of(*parts.train);
  EXPECT_EQ(held_out.size(), 100u);
  EXPECT_EQ(train.size(), 900u);
  std::set<std::int32_t> all(held_out.begin(), held_out.end());
  all.insert(train.begin(), train.end());
  EXPECT_EQ(all.size(), 1000u);
  auto in_last_half = std::ranges::count_if(held_out, [](std::int32_t i) { return i >= 500; });
  EXPECT_NEAR(static_cast<double>(in_last_half), 50, 20);
}

TEST(HoldOut, AShareOfARunningTextIsItsEnd) {
  HeldOut parts = split("20%", 10, true);
  EXPECT_THAT(samples_of(*parts.held_out), testing::ElementsAre(8, 9));
  EXPECT_THAT(samples_of(*parts.train), testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(HoldOut, ARangeLeavesTheRestToTraining) {
  HeldOut parts = split("[2:4]", 6);
  EXPECT_THAT(samples_of(*parts.held_out), testing::ElementsAre(2, 3));
  EXPECT_THAT(samples_of(*parts.train), testing::ElementsAre(0, 1, 4, 5));
}

std::string refusal(std::string_view part, std::int64_t size) {
  try {
    split(part, size);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(HoldOut, PartsAreAsSlowAsTheWhole) {
  HeldOut parts = split("50%", 10);
  EXPECT_TRUE(parts.train->is_slow());
  EXPECT_TRUE(parts.held_out->is_slow());
}

TEST(HoldOut, RefusesPartsThatLeaveNothing) {
  EXPECT_THAT(refusal("0%", 100), HasSubstr("above 0 and below 100"));
  EXPECT_THAT(refusal("ten%", 100), HasSubstr("data.validation = \"ten%\""));
  EXPECT_THAT(refusal("1%", 10), HasSubstr("leaves none"));
  EXPECT_THAT(refusal("[0:6]", 6), HasSubstr("no sample is left"));
  EXPECT_THAT(refusal("[4:9]", 6), HasSubstr("does not lie within"));
  EXPECT_THAT(refusal("[4]", 6), HasSubstr("[begin:end]"));
}

TEST(HoldOut, KnowsPartsFromNames) {
  EXPECT_TRUE(is_part("10%"));
  EXPECT_TRUE(is_part("[0:5]"));
  EXPECT_FALSE(is_part("idx:mnist[0:5]"));
  EXPECT_FALSE(is_part("digits:test"));
}

}  // namespace
}  // namespace troika::data
