// Fully connected layers with relu between them; 784-2048-2048-10 by default.
#pragma once

#include "zoo/model.h"

namespace troika::zoo {

struct Mlp {
  std::string hidden = "2048";
  std::int64_t layers = 2;
  double dropout = 0;
  std::string loss = LossOption::kDefault;

  static void fields(auto& self, auto&& visit) {
    visit("hidden", self.hidden,
          "hidden units: one size for all layers, or a list such as \"512,256\"");
    visit("layers", self.layers, "number of hidden layers, if 'hidden' is one size");
    visit("dropout", self.dropout, "dropout rate after each hidden layer");
    visit("loss", self.loss, LossOption::kHelp);
  }
};

Graph make(const Mlp& options, const Samples& samples);

}  // namespace troika::zoo
