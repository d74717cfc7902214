#include "data/token_mask.h"

#include "base/hash.h"
#include "base/random.h"

namespace troika::data {
namespace {

constexpr double kChosen = 0.15;
constexpr double kHidden = 0.8;
constexpr double kReplaced = 0.1;

/// In [0, 1).
double part_of(std::uint32_t word) { return word * 0x1p-32; }

}  // namespace

void TokenMask::apply(Sample sample, std::span<std::int32_t> tokens,
                      std::span<float> weights) const {
  RandomStream random{
      .key = seed, .stream = hash_text("mask"), .step = static_cast<std::uint32_t>(sample.epoch)};
  RandomStream least = random;
  least.stream = hash_text("mask at least");
  // One word block per token of the whole set.
  std::uint64_t first = static_cast<std::uint64_t>(sample.index) * tokens.size();
  // A sample without any target would not contribute to the loss.
  std::size_t always = least.below(static_cast<std::uint64_t>(sample.index), tokens.size());
  bool any = false;
  for (std::size_t at = 0; at < tokens.size(); ++at)
    any = any || part_of(random.words(first + at)[0]) < kChosen;
  for (std::size_t at = 0; at < tokens.size(); ++at) {
    auto [chosen, action, token, unused] = random.words(first + at);
    bool asked = part_of(chosen) < kChosen || (!any && at == always);
    weights[at] = asked ? 1.0F : 0.0F;
    if (!asked) continue;
    if (part_of(action) < kHidden)
      tokens[at] = static_cast<std::int32_t>(symbols);
    else if (part_of(action) < kHidden + kReplaced)
      tokens[at] = static_cast<std::int32_t>(part_of(token) * static_cast<double>(symbols));
  }
}

}  // namespace troika::data
