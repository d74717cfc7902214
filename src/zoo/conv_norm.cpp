#include "zoo/conv_norm.h"

namespace troika::zoo {

TensorId conv_norm(GraphBuilder& b, const ConvNormNames& names, TensorId x,
                   const ConvNormOptions& options) {
  // No bias, because batch norm subtracts the mean.
  Init init = options.init.value_or(
      layers::he_normal(options.out * options.kernel.height * options.kernel.width));
  x = layers::conv2d(b, names.conv, x,
                     {.out = options.out,
                      .kernel = options.kernel,
                      .stride = options.stride,
                      .pad = options.pad,
                      .bias = false,
                      .init = init});
  x = layers::batch_norm(b, names.norm, x, {.epsilon = options.epsilon});
  return names.relu.empty() ? x : layers::relu(b, names.relu, x);
}

}  // namespace troika::zoo
