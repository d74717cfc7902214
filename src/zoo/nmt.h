// Translation by an LSTM encoder and a decoder with global attention (Luong et al. 2015,
// arXiv:1508.04025): the decoder starts from the encoder's last states, attends to its outputs, and
// tanh(W [context; state]) makes the logits. By default 59,156,224 parameters, a bias in every
// linear layer included.
#pragma once

#include "zoo/model.h"

namespace troika::zoo {

struct Nmt {
  std::int64_t vocabulary = 32'000;
  std::int64_t layers = 2;
  std::int64_t width = 512;
  std::int64_t heads = 1;
  double dropout = 0.2;

  static void fields(auto& self, auto&& visit) {
    visit("vocabulary", self.vocabulary, "source vocabulary, if the data does not say");
    visit("layers", self.layers, "LSTM layers of the encoder, and of the decoder");
    visit("width", self.width, "size of embeddings and states");
    visit("heads", self.heads, "attention heads; must divide the width");
    visit("dropout", self.dropout, "dropout rate between layers and before the last one");
  }
};

/// Inputs "source" i32 [n,s], "input" i32 [n,t] (the translation, shifted by one token), "target"
/// i32 and "weight" [n,t]; if samples have them, "length" i32 [n] of sources and "mask" [n,s], 0
/// for their padding.
Graph make(const Nmt& options, const Samples& samples);

}  // namespace troika::zoo
