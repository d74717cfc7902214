// Inception v3 (Szegedy et al. 2016, doi:10.1109/CVPR.2016.308) without the auxiliary head; sizes
// and names as in torchvision: 23,834,568 parameters at 299 x 299.
#pragma once

#include "zoo/model.h"

namespace troika::zoo {

struct Inception {
  double width = 1;
  double depth = 1;
  double dropout = 0.5;
  std::string loss = LossOption::kDefault;

  static void fields(auto& self, auto&& visit) {
    visit("width", self.width, "multiplies the channels of every layer");
    visit("depth", self.depth, "multiplies the modules of each of the three stages");
    visit("dropout", self.dropout, "dropout rate before the last layer");
    visit("loss", self.loss, LossOption::kHelp);
  }
};

Graph make(const Inception& options, const Samples& samples);

}  // namespace troika::zoo
