// y[n.., :] = w[token[n..], :]. A tile of the vocabulary holds rows [first, first + vocabulary),
// where first is its position, and gives zeros for other tokens, so that tiles add up. The gradient
// of w is dense.
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

std::span<const std::string_view> enum_names(DType);

struct Embedding {
  static constexpr std::string_view kName = "embedding";
  std::int64_t vocabulary = 0;
  std::int64_t width = 0;
  DType dtype = DType::f32;  ///< Type of w and y; it does not follow from the tokens.

  static void fields(auto& self, auto&& visit) {
    visit("vocabulary", self.vocabulary);
    visit("width", self.width);
    visit("dtype", self.dtype);
  }
  bool operator==(const Embedding&) const = default;
};

/// Input: tokens i32 [n..], at most three dimensions. Axes: these, v (rows of w, a reduction) and d
/// (the width).
Signature signature(const Embedding& op, std::span<const TensorSpec> inputs);
Embedding localize(const Embedding& op, const Signature& signature, const Region& tile);
/// The first row of w.
std::vector<std::int64_t> tile_position(const Embedding& op, const Signature& signature,
                                        const Region& tile);

}  // namespace troika
