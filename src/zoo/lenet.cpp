#include "zoo/lenet.h"

#include "graph/layers.h"
#include "zoo/inputs_and_loss.h"

namespace troika::zoo {

Graph make(const Lenet& options, const Samples& samples) {
  GraphBuilder b("lenet");
  // 12 is the smallest image: 6 after the first pooling, 2 after the second convolution.
  TrainingInputs inputs = float_inputs(b, samples, image_shape("lenet", samples, {1, 28, 28}, 12));
  TensorId x = inputs.input;
  auto convolve = [&](const std::string& layer, std::int64_t out, std::int64_t pad) {
    out = scaled(out, options.width);
    x = layers::conv2d(b, "conv" + layer, x,
                       {.out = out, .kernel = 5, .pad = pad, .init = layers::he_normal(25 * out)});
    x = layers::relu(b, "relu" + layer, x);
    x = layers::max_pool(b, "pool" + layer, x, {.size = 2});
  };
  auto connect = [&](const std::string& layer, std::int64_t out) {
    Init init = layers::he_normal(b.shape(x).back());
    x = layers::linear(b, "fc" + layer, x, {.out = scaled(out, options.width), .init = init});
    x = layers::relu(b, "relu" + layer, x);
  };
  // The padding of the first layer makes the paper's 32 x 32 of 28 x 28 pixels.
  convolve("1", 6, 2);
  convolve("2", 16, 0);
  x = layers::flatten(b, "flatten", x);
  connect("3", 120);
  connect("4", 84);
  add_loss(b, inputs, layers::linear(b, "output", x, {.out = answers(samples, 10)}),
           {"lenet", options.loss});
  return b.finish();
}

}  // namespace troika::zoo
