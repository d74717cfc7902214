// Convolution, batch norm and relu, the building block of most vision models.
#pragma once

#include "graph/layers.h"

namespace troika::zoo {

/// Names of the three operators and of their parameters.
struct ConvNormNames {
  std::string conv, norm, relu;  ///< No relu if its name is empty.
};

struct ConvNormOptions {
  std::int64_t out = 0;
  layers::Extent2 kernel = 1;
  layers::Extent2 stride = 1;
  layers::Extent2 pad = 0;
  double epsilon = 1e-5;
  std::optional<Init> init{};  ///< Initial weight; by default normal with variance 2/fan-out.
};

TensorId conv_norm(GraphBuilder& b, const ConvNormNames& names, TensorId x,
                   const ConvNormOptions& options);

}  // namespace troika::zoo
