// y = keep * x / (1 - rate), where element e of the global tensor is kept iff the e-th uniform
// number of the stream (seed, stream, step) is >= rate. Nothing is saved: backward draws again.
// Srivastava et al., JMLR 15 (2014) 1929-1958.
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

struct Dropout {
  static constexpr std::string_view kName = "dropout";
  double rate = 0.5;         ///< In [0, 1).
  std::uint64_t stream = 0;  ///< Hash of the operator's name.
  /// Where this tile starts in the global tensor; empty is its start.
  std::vector<std::int64_t> origin{};
  std::vector<std::int64_t> extents{};  ///< Of the global tensor; empty is the tensor itself.

  static void fields(auto& self, auto&& visit) {
    visit("rate", self.rate);
    visit("stream", self.stream);
    visit("origin", self.origin);
    visit("extents", self.extents);
  }
  bool operator==(const Dropout&) const = default;
};

Signature signature(const Dropout& op, std::span<const TensorSpec> inputs);
Dropout localize(const Dropout& op, const Signature& signature, const Region& tile);

}  // namespace troika
