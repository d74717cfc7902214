// Dropout (Srivastava et al., JMLR 15 (2014) 1929-1958): y = keep * x / (1 - rate). Element e of
// the global tensor is kept iff uniform number e of the stream (seed, stream, step) is >= rate. The
// mask is not saved: backward draws the same numbers again.
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

struct Dropout {
  static constexpr std::string_view kName = "dropout";
  double rate = 0.5;         ///< In [0, 1).
  std::uint64_t stream = 0;  ///< Hash of the operator's name; 0 in a tile, whose position has it.
  /// Extents of the global tensor; empty means those of x. Part of the kernel key: they are the
  /// same for all tiles.
  std::vector<std::int64_t> extents{};
  /// Where x begins in the global tensor; empty means at its origin. Part of the position only.
  std::vector<std::int64_t> begin{};

  static void fields(auto& self, auto&& visit) {
    visit("rate", self.rate);
    visit("stream", self.stream);
    visit("extents", self.extents);
    visit("begin", self.begin);
  }
  bool operator==(const Dropout&) const = default;
};

Signature signature(const Dropout& op, std::span<const TensorSpec> inputs);
Dropout localize(const Dropout& op, const Signature& signature, const Region& tile);
/// Where the random numbers of the tile are: the stream, then the begin in the global tensor along
/// each dimension. Neither changes the work, so all dropouts of a shape share one kernel.
std::vector<std::int64_t> tile_position(const Dropout& op, const Signature& signature,
                                        const Region& tile);

}  // namespace troika
