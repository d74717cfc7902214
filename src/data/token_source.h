// A long sequence of tokens, before it is cut into samples.
#pragma once

#include <cstdint>
#include <span>

#include "data/vocabulary.h"
#include "tensor/region.h"

namespace troika::data {

/// Constant after construction: every member may be called from any thread at once.
class TokenSource {
 public:
  virtual ~TokenSource() = default;

  virtual std::int64_t size() const = 0;
  /// Every token lies in [0, symbols()).
  virtual std::int64_t symbols() const = 0;
  /// Reads the tokens from `first` on.
  virtual void read(std::int64_t first, std::span<std::int32_t> tokens) const = 0;
  /// See Dataset::will_read.
  virtual void will_read(Range /*tokens*/) const {}
  virtual const Vocabulary* vocabulary() const { return nullptr; }
};

}  // namespace troika::data
