#include "data/forwarding_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace troika::data {
namespace {

/// Answers differ from the defaults of Dataset, so that a function that is not forwarded shows.
class Unusual final : public Dataset {
 public:
  explicit Unusual(Range& announced) : announced_(&announced) {}

  std::int64_t size() const override { return 7; }
  const Encoding& encoding() const override { return encoding_; }
  void read(Sample sample, std::span<const std::span<std::byte>> fields) const override {
    fields[0][0] = static_cast<std::byte>(sample.index + sample.epoch);
  }
  bool is_slow() const override { return true; }
  std::int64_t window() const override { return 3; }
  void will_read(Range samples) const override { *announced_ = samples; }
  std::vector<std::int64_t> class_sizes() const override { return {4, 3}; }
  bool has_targets() const override { return false; }

 private:
  Encoding encoding_{.classes = 2};
  Range* announced_;
};

TEST(ForwardingDataset, ForwardsEveryFunction) {
  Range announced{};
  ForwardingDataset forwarding(std::make_shared<Unusual>(announced));
  EXPECT_EQ(forwarding.size(), 7);
  EXPECT_EQ(forwarding.classes(), 2);
  EXPECT_TRUE(forwarding.is_slow());
  EXPECT_EQ(forwarding.window(), 3);
  EXPECT_THAT(forwarding.class_sizes(), testing::ElementsAre(4, 3));
  EXPECT_FALSE(forwarding.has_targets());
  forwarding.will_read({2, 5});
  EXPECT_EQ(announced, (Range{2, 5}));
  std::byte value{};
  std::span<std::byte> field(&value, 1);
  forwarding.read({.index = 4, .epoch = 2}, {&field, 1});
  EXPECT_EQ(value, std::byte{6});
}

}  // namespace
}  // namespace troika::data
