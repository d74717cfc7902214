// GoogLeNet (Szegedy et al. 2015, doi:10.1109/CVPR.2015.7298594) with batch norm and without
// auxiliary heads: 7,005,832 parameters. Names as in torchvision, whose "5x5" branch has 3 x 3
// kernels; here it has the 5 x 5 kernels of the paper.
#pragma once

#include "zoo/model.h"

namespace troika::zoo {

struct Googlenet {
  double width = 1;
  double depth = 1;
  double dropout = 0.2;
  std::string loss = LossOption::kDefault;

  static void fields(auto& self, auto&& visit) {
    visit("width", self.width, "multiplies the channels of every layer");
    visit("depth", self.depth, "multiplies the modules of each of the three stages");
    visit("dropout", self.dropout, "dropout rate before the last layer");
    visit("loss", self.loss, LossOption::kHelp);
  }
};

Graph make(const Googlenet& options, const Samples& samples);

}  // namespace troika::zoo
