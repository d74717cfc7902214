// GPT-2 (Radford et al. 2019): a causal transformer with pre-norm, tanh-gelu and tied embeddings.
// With the usual vocabulary of 50,257 and 1,024 tokens the smallest one has 124,439,808
// parameters. It has one learnt vector per position, so that the number of parameters depends on
// the sequence length. No dropout on attention probabilities, which are not stored.
#pragma once

#include "zoo/model.h"

namespace troika::zoo {

struct Gpt2 {
  std::int64_t layers = 12;
  std::int64_t heads = 12;
  std::int64_t width = 768;
  double dropout = 0;

  static void fields(auto& self, auto&& visit) {
    visit("layers", self.layers, "transformer blocks");
    visit("heads", self.heads, "attention heads; must divide the width");
    visit("width", self.width, "size of the vectors between the blocks");
    visit("dropout", self.dropout, "dropout rate after the embedding and after each branch");
  }
};

Graph make(const Gpt2& options, const Samples& samples);

}  // namespace troika::zoo
