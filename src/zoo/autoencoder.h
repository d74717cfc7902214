// Fully connected layers down to a narrow code and back (Hinton and Salakhutdinov 2006,
// doi:10.1126/science.1127647, with relu); the loss is the squared error against the input itself.
// 784-256-64-256-784 by default: 435,536 parameters.
#pragma once

#include "zoo/model.h"

namespace troika::zoo {

struct Autoencoder {
  std::string hidden = "256,64";

  static void fields(auto& self, auto&& visit) {
    visit("hidden", self.hidden, "layer sizes of the encoder; the decoder mirrors them");
  }
};

/// Inputs "input" and "weight"; outputs "code" and "image".
Graph make(const Autoencoder& options, const Samples& samples);

}  // namespace troika::zoo
