#include "data/token_mask.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "data/loader.h"
#include "data/testing/file_fixture.h"

namespace troika::data {
namespace {

constexpr std::int32_t kToken = 3;
constexpr std::int64_t kSymbols = 50;

struct Masked {
  std::vector<std::int32_t> tokens;
  std::vector<float> weights;
  bool operator==(const Masked&) const = default;
};

Masked masked(Sample sample, std::size_t length, std::uint64_t seed = 1) {
  Masked result{std::vector<std::int32_t>(length, kToken), std::vector<float>(length)};
  TokenMask{seed, kSymbols}.apply(sample, result.tokens, result.weights);
  return result;
}

TEST(TokenMask, FollowsThePaper) {
  constexpr std::size_t kLength = 100'000;
  auto [tokens, weights] = masked({0, 0}, kLength);
  double chosen = 0, hidden = 0, kept = 0;
  for (std::size_t at = 0; at < kLength; ++at) {
    if (weights[at] == 0) {
      EXPECT_EQ(tokens[at], kToken);
      continue;
    }
    EXPECT_EQ(weights[at], 1);
    chosen += 1;
    hidden += tokens[at] == kSymbols;
    kept += tokens[at] == kToken;
    EXPECT_LE(tokens[at], kSymbols);
  }
  double sigma = std::sqrt(chosen);
  EXPECT_NEAR(chosen, 0.15 * kLength, 4 * sigma);
  EXPECT_NEAR(hidden, 0.8 * chosen, 2 * sigma);
  EXPECT_NEAR(kept, (0.1 + 0.1 / kSymbols) * chosen, 2 * sigma);
}

TEST(TokenMask, DependsOnSeedEpochAndSampleAlone) {
  Masked first = masked({4, 1}, 200);
  EXPECT_EQ(masked({4, 1}, 200), first);
  EXPECT_NE(masked({5, 1}, 200), first);
  EXPECT_NE(masked({4, 2}, 200), first);
  EXPECT_NE(masked({4, 1}, 200, 2), first);
}

TEST(TokenMask, AsksForAtLeastOneToken) {
  for (std::int64_t sample = 0; sample < 200; ++sample) {
    std::vector<float> weights = masked({sample, 0}, 3).weights;
    EXPECT_GE(std::ranges::count(weights, 1.0F), 1) << sample;
  }
}

TEST(MaskedText, AsksForTheTextItselfWhereItIsHidden) {
  TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 512; ++i) text += static_cast<char>('a' + i % 26);
  auto set = open("text:" + folder.write("a.txt", text), {.sequence_length = 64, .masked = true});
  EXPECT_EQ(set->size(), 8);
  EXPECT_EQ(set->classes(), 27);
  Loader loader(*set, {.batch = 8, .purpose = Purpose::evaluate});
  const Batch& batch = *loader.next();
  ASSERT_EQ(batch.fields.size(), 3u);
  auto input = batch["input"].as<std::int32_t>(), target = batch["target"].as<std::int32_t>();
  auto weight = batch["weight"].as<float>();
  int asked = 0, masks = 0;
  for (std::size_t at = 0; at < target.size(); ++at) {
    EXPECT_EQ(target[at], static_cast<std::int32_t>(at % 26));
    EXPECT_TRUE(weight[at] == 1 || input[at] == target[at]);
    asked += weight[at] == 1;
    masks += input[at] == 26;
  }
  EXPECT_NEAR(asked, 77, 35);
  EXPECT_GT(masks, asked / 2);
}

}  // namespace
}  // namespace troika::data
