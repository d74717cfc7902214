// LeNet-5 (LeCun et al. 1998, doi:10.1109/5.726791) as it is taught today: relu and maximum pooling
// in place of tanh and trained averages, full connections between the convolutions, padding in the
// first. 61,706 parameters on 28 x 28.
#pragma once

#include "zoo/model.h"

namespace troika::zoo {

struct Lenet {
  double width = 1;
  std::string loss = LossOption::kDefault;

  static void fields(auto& self, auto&& visit) {
    visit("width", self.width, "multiplies the channels and hidden units of every layer");
    visit("loss", self.loss, LossOption::kHelp);
  }
};

Graph make(const Lenet& options, const Samples& samples);

}  // namespace troika::zoo
