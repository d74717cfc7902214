// BERT (Devlin et al. 2019, arXiv:1810.04805): transformer blocks with post-norm and exact gelu.
// With the usual vocabulary of 30,522, 512 tokens, two segments and the pooler the body has
// 109,482,240 parameters.
#pragma once

#include "zoo/model.h"

namespace troika::zoo {

struct Bert {
  std::int64_t layers = 12;
  std::int64_t heads = 12;
  std::int64_t width = 768;
  std::int64_t vocabulary = 30'522;
  double dropout = 0.1;
  std::string head = "auto";

  static void fields(auto& self, auto&& visit) {
    visit("layers", self.layers, "transformer blocks");
    visit("heads", self.heads, "attention heads; must divide the width");
    visit("width", self.width, "size of the vectors between the blocks");
    visit("vocabulary", self.vocabulary,
          "input vocabulary of a classifier, if the data does not say");
    visit("dropout", self.dropout, "dropout rate after the embedding and after each branch");
    visit("head", self.head,
          "\"classify\" a sample by its first token, predict \"masked\" tokens, or \"auto\": as "
          "the data's targets are");
  }
};

/// Inputs "input", "target" and "weight" (for the masked head per token: 0 for tokens that are not
/// predicted). If samples have them, also "segment" i32 [n,t] (0 or 1) and "mask" [n,t] (0 for
/// padding). The samples' classes are the classes or, for the masked head, the vocabulary.
Graph make(const Bert& options, const Samples& samples);

}  // namespace troika::zoo
