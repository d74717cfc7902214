// Text classification: embedding, stacked LSTMs, the last state or the mean over time, one linear
// layer. One sample is one text with one target; if samples have "length" i32, states stop there.
// 1,411,842 parameters by default.
#pragma once

#include "zoo/model.h"

namespace troika::zoo {

struct Rnntc {
  std::int64_t vocabulary = 10'000;
  std::int64_t layers = 1;
  std::int64_t hidden = 128;
  bool bidirectional = false;
  double dropout = 0;
  std::string cell = "lstm";
  std::string pool = "last";

  static void fields(auto& self, auto&& visit) {
    visit("vocabulary", self.vocabulary, "vocabulary of the texts, if the data does not say");
    visit("layers", self.layers, "recurrent layers");
    visit("hidden", self.hidden, "size of each layer and direction, and of the embedding");
    visit("bidirectional", self.bidirectional, "read each text in both directions");
    visit("dropout", self.dropout, "dropout rate between layers and before the last one");
    visit("cell", self.cell, "\"lstm\", \"gru\" or \"rnn\"");
    visit("pool", self.pool, "\"last\" state, or \"mean\" over all steps, padding included");
  }
};

Graph make(const Rnntc& options, const Samples& samples);

}  // namespace troika::zoo
