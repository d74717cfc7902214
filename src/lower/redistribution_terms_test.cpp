// When terms are added up, and in which order.
#include <gtest/gtest.h>

#include <numeric>

#include "lower/testing/random_redistribution.h"
#include "lower/testing/redistribution_text.h"

namespace troika {
namespace {

/// Contributions to a tensor of four elements, all of which are read.
struct Sum : RedistributionCase {
  explicit Sum(std::int32_t devices) : RedistributionCase(plain_redistribution({4}, devices)) {}

  Touch whole(std::int32_t device) { return {device, box(make_box({{0, 4}}))}; }
  /// One term per device of the list.
  void write(const std::vector<std::int32_t>& devices) {
    Contribution& from = request.from.emplace_back();
    for (std::int32_t at = 0; at < std::ssize(devices); ++at) {
      from.tiles.push_back(whole(devices[at]));
      from.terms.push_back(at);
    }
    from.term_count = static_cast<std::int32_t>(devices.size());
  }
  void read(const std::vector<std::int32_t>& devices) {
    std::vector<Touch>& reader = request.readers.emplace_back();
    for (std::int32_t device : devices) reader.push_back(whole(device));
  }
  std::string text(std::int32_t device) const {
    Redistribution result = redistribute(request, where());
    EXPECT_EQ(run(*this, result).fault, "");
    return describe(request, result, device);
  }
  /// What the first reader's tiles read, with sums that depend on their order.
  std::vector<std::vector<double>> bits() const {
    RedistributionRun done = run(*this, redistribute(request, where()), {.rough = true});
    EXPECT_EQ(done.fault, "");
    return done.read[0];
  }
};

TEST(RedistributionTerms, AreAddedUpBeforeTheFirstReader) {
  Sum sum(1);
  sum.write({0});
  sum.write({0});
  sum.write({0});
  sum.read({0});
  sum.read({0});
  EXPECT_EQ(sum.text(0),
            "3 sum value3[0:4] <- written0[0:4], written1[0:4], written2[0:4]\n"
            "read 0 value3[0:4]\n"
            "read 1 value3[0:4]\n");
}

TEST(RedistributionTerms, AreAddedUpAfterEachContributionWhereAsked) {
  Sum sum(1);
  for (int at = 0; at < 3; ++at) sum.write({0});
  sum.read({0});
  sum.request.merge_each = true;
  EXPECT_EQ(sum.text(0),
            "1 sum value3[0:4] <- written0[0:4], written1[0:4]\n"
            "2 sum value4[0:4] <- value3[0:4], written2[0:4]\n"
            "read 0 value4[0:4]\n");
}

TEST(RedistributionTerms, AreAddedUpAtOnceForAMessage) {
  Sum sum(2);
  sum.write({0, 1});
  sum.write({0, 1});
  sum.read({0, 1});
  EXPECT_EQ(sum.text(1),
            "1 sum value2[0:4] <- written0[0:4], written1[0:4]\n"
            "1 start value2[0:4] all_reduce of 4 among 1 0\n"
            "2 finish value2[0:4] all_reduce of 4 among 1 0\n"
            "read 0 value2[0:4]\n");
}

TEST(RedistributionTerms, AMessageThatALaterReaderAsksForStartsEarlyToo) {
  Sum sum(2);
  sum.write({0});
  sum.read({0});
  sum.read({1});
  EXPECT_EQ(sum.text(1),
            "0 start value0[0:4] broadcast of 4 among 0 1\n"
            "2 finish value0[0:4] broadcast of 4 among 0 1\n"
            "read 1 value0[0:4]\n");
}

TEST(RedistributionTerms, TheGreatestOfTermsIsAssembled) {
  Sum sum(1);
  sum.write({0, 0});
  sum.read({0});
  sum.request.greatest = true;
  EXPECT_EQ(sum.text(0),
            "1 assemble value2[0:4] <- written0[0:4], written1[0:4]\n"
            "read 0 value2[0:4]\n");
}

TEST(RedistributionTerms, ADeviceAddsItsOwnTermFirst) {
  Sum sum(3);
  sum.write({0, 1, 2});
  sum.read({1});
  std::string text = sum.text(1);
  EXPECT_NE(text.find("assemble value3[0:4] <- written0[0:4], value1[0:4], value2[0:4]"),
            std::string::npos)
      << text;
}

TEST(RedistributionTerms, SeveralReadersOfASumGetTheSameBits) {
  Sum sum(5);
  sum.write({0, 1, 2, 3, 4});
  sum.read({3, 1, 2, 0});  // not all of them: no collective
  std::vector<std::vector<double>> bits = sum.bits();
  for (const std::vector<double>& other : bits) EXPECT_EQ(other, bits[0]);
}

/// Eight shards of two operators on so many devices.
Sum sharded(std::int32_t devices) {
  Sum sum(devices);
  std::vector<std::int32_t> shards(8);
  for (std::int32_t shard = 0; shard < 8; ++shard) shards[shard] = shard * devices / 8;
  sum.write(shards);
  sum.write(shards);
  sum.request.fixed_order = true;
  return sum;
}

TEST(RedistributionTerms, AFixedOrderHasTheSameBitsOnAnyNumberOfDevices) {
  Sum alone = sharded(1);
  alone.read({0});
  std::vector<double> bits = alone.bits()[0];
  for (std::int32_t devices : {2, 4, 8}) {
    for (bool by_one : {true, false}) {  // by messages to one device, by an all_reduce
      for (bool merge_each : {true, false}) {
        Sum sum = sharded(devices);
        sum.request.merge_each = merge_each;
        std::vector<std::int32_t> readers(by_one ? 1 : devices);
        std::iota(readers.begin(), readers.end(), 0);
        sum.read(readers);
        for (const std::vector<double>& other : sum.bits())
          EXPECT_EQ(other, bits) << devices << " devices";
      }
    }
  }
}

TEST(RedistributionTerms, AFixedOrderNeedsNoPowerOfTwoOfDevices) {
  Sum sum(3);
  sum.write({0, 1, 2});
  sum.read({0, 1, 2});
  sum.request.fixed_order = true;
  EXPECT_EQ(sum.text(0).find("all_reduce"), std::string::npos);
  std::vector<std::vector<double>> bits = sum.bits();
  EXPECT_EQ(bits[0], bits[2]);
}

}  // namespace
}  // namespace troika
