// AlexNet in one tower (Krizhevsky 2014, arXiv:1404.5997), sizes and names as in torchvision:
// 61,100,840 parameters.
#pragma once

#include "zoo/model.h"

namespace troika::zoo {

struct Alexnet {
  double width = 1;
  double dropout = 0.5;
  bool lrn = false;
  std::string loss = LossOption::kDefault;

  static void fields(auto& self, auto&& visit) {
    visit("width", self.width, "multiplies the channels and hidden units of every layer");
    visit("dropout", self.dropout, "dropout rate before the first two fully connected layers");
    visit("lrn", self.lrn,
          "local response norm behind the first two convolutions, as in the paper of 2012");
    visit("loss", self.loss, LossOption::kHelp);
  }
};

Graph make(const Alexnet& options, const Samples& samples);

}  // namespace troika::zoo
