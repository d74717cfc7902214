#include "ops/batch_norm.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "ops/testing/op_cases.h"

namespace troika {
namespace {

Region samples(Signature& s, std::int64_t begin, std::int64_t end) {
  Region tile = s.whole_tile();
  tile.ranges[0] = {begin, end};
  return tile;
}

TEST(BatchNorm, TilesOfWholeShardsNeedNoStages) {
  BatchNorm op{.shards = 3};
  Signature s = signature(op, std::vector{f64({12, 2})});
  EXPECT_FALSE(s.needs_stages(samples(s, 4, 12)));
  EXPECT_EQ(localize(op, s, samples(s, 4, 12)), (BatchNorm{.shards = 2, .count = 4}));
  EXPECT_TRUE(s.needs_stages(samples(s, 4, 6)));
  EXPECT_EQ(localize(op, s, samples(s, 4, 6)), (BatchNorm{.shards = 1, .count = 4}));
}

TEST(BatchNorm, RefusesATileThatCutsTwoShards) {
  BatchNorm op{.shards = 3};
  Signature s = signature(op, std::vector{f64({12, 2})});
  try {
    localize(op, s, samples(s, 2, 6));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "batch_norm with shards of 4 samples cannot be cut to samples 2 to 6; a tile must "
                 "hold whole shards or lie "
                 "inside one");
  }
}

TEST(BatchNorm, RefusesABatchThatShardsDoNotDivide) {
  EXPECT_THROW(signature(BatchNorm{.shards = 5}, std::vector{f64({12, 2})}), Error);
  EXPECT_NO_THROW(signature(BatchNorm{.training = false, .shards = 5}, std::vector{f64({12, 2})}));
}

}  // namespace
}  // namespace troika
