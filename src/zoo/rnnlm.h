// A language model of stacked LSTMs, of the medium size of Zaremba et al. 2014 (arXiv:1409.2329). A
// layer has one bias of 4 x hidden: 19,775,200 parameters with the usual vocabulary of 10,000
// (19,780,400 where each layer has two).
#pragma once

#include "zoo/model.h"

namespace troika::zoo {

struct Rnnlm {
  std::int64_t layers = 2;
  std::int64_t hidden = 650;
  double dropout = 0;
  std::string cell = "lstm";

  static void fields(auto& self, auto&& visit) {
    visit("layers", self.layers, "recurrent layers");
    visit("hidden", self.hidden, "size of each layer and of the embedding");
    visit("dropout", self.dropout, "dropout rate before and after each layer");
    visit("cell", self.cell, "\"lstm\", \"gru\" or \"rnn\"");
  }
};

Graph make(const Rnnlm& options, const Samples& samples);

}  // namespace troika::zoo
