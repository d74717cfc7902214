// Residual networks (He et al. 2016, doi:10.1109/CVPR.2016.90), names as in torchvision; the stride
// is in the 3 x 3 convolution. 18 layers: 11,689,512 parameters, 50: 25,557,032, 101: 44,549,160.
#pragma once

#include <array>

#include "zoo/model.h"

namespace troika::zoo {

struct Resnet {
  std::int64_t layers = 50;  ///< 18, 50 or 101: follows from the model's name.
  double width = 1;
  double depth = 1;
  std::string stem = "auto";
  std::string loss = LossOption::kDefault;

  static void fields(auto& self, auto&& visit) {
    visit("width", self.width, "multiplies the channels of every layer");
    visit("depth", self.depth, "multiplies the blocks of each of the four stages");
    visit("stem", self.stem,
          "\"large\": 7x7 convolution by 2 and pooling; \"small\": 3x3; \"auto\": large from 64 "
          "pixels on");
    visit("loss", self.loss, LossOption::kHelp);
  }
};

Graph make(const Resnet& options, const Samples& samples);

}  // namespace troika::zoo
