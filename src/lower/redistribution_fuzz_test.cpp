// Random redistributions, run on numbers.
#include <gtest/gtest.h>

#include <map>

#include "lower/testing/random_redistribution.h"

namespace troika {
namespace {

TEST(Redistribution, GivesEveryReaderOfRandomSpreadsItsBox) {
  std::map<Collective, int> seen;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    RedistributionCase made = random_redistribution(seed, {.greatest = seed % 5 == 4});
    Redistribution result = redistribute(made.request, made.where());
    ASSERT_EQ(run(made, result, {.seed = seed}).fault, "") << "seed " << seed;
    for (const Message& message : result.messages) ++seen[message.kind];
  }
  for (Collective kind : {Collective::all_reduce, Collective::reduce_scatter,
                          Collective::all_gather, Collective::all_to_all, Collective::broadcast})
    EXPECT_GT(seen[kind], 10) << to_string(kind);
}

TEST(Redistribution, GivesEveryReaderItsBoxInAFixedOrder) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    RedistributionCase made = random_redistribution(seed, {.fixed_order = true});
    Redistribution result = redistribute(made.request, made.where());
    ASSERT_EQ(run(made, result, {.seed = seed}).fault, "") << "seed " << seed;
  }
}

}  // namespace
}  // namespace troika
