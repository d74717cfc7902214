// VGG-16 (Simonyan and Zisserman 2015, arXiv:1409.1556), names as in torchvision: 138,357,544
// parameters.
#pragma once

#include "zoo/model.h"

namespace troika::zoo {

struct Vgg {
  double width = 1;
  double depth = 1;
  double dropout = 0.5;
  std::string loss = LossOption::kDefault;

  static void fields(auto& self, auto&& visit) {
    visit("width", self.width, "multiplies the channels and hidden units of every layer");
    visit("depth", self.depth, "multiplies the convolutions between two poolings");
    visit("dropout", self.dropout,
          "dropout rate after each of the first two fully connected layers");
    visit("loss", self.loss, LossOption::kHelp);
  }
};

Graph make(const Vgg& options, const Samples& samples);

}  // namespace troika::zoo
