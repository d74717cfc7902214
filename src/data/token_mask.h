// Hides tokens that a bidirectional model is to predict: Devlin et al.
// 2019, arXiv:1810.04805, section 3.1 and appendix A.1.
#pragma once

#include <cstdint>
#include <span>

#include "data/dataset.h"

namespace troika::data {

/// A function of (seed, epoch, sample, position) and nothing else.
struct TokenMask {
  std::uint64_t seed = 1;
  std::int64_t symbols = 0;  ///< Tokens lie in [0, symbols); the mask is `symbols` itself.

  /// Chooses 15 % of the positions, at least one: their weight is 1, that of others 0. Of the
  /// chosen tokens 80 % become the mask, 10 % a random token, and 10 % stay.
  void apply(Sample sample, std::span<std::int32_t> tokens, std::span<float> weights) const;
};

}  // namespace troika::data
