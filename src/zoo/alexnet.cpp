#include "zoo/alexnet.h"

#include <array>

#include "graph/layers.h"
#include "zoo/inputs_and_loss.h"

namespace troika::zoo {
namespace {

/// One convolution, named by its index in torchvision.
struct Convolution {
  const char* name;
  std::int64_t out, kernel, stride, pad;
  bool norm, pool;
};

constexpr std::array<Convolution, 5> kTower{{{"features.0", 64, 11, 4, 2, true, true},
                                             {"features.3", 192, 5, 1, 2, true, true},
                                             {"features.6", 384, 3, 1, 1, false, false},
                                             {"features.8", 256, 3, 1, 1, false, false},
                                             {"features.10", 256, 3, 1, 1, false, true}}};

/// The values of the paper; our operator divides alpha by the size, so that 1e-4 becomes 5e-4.
constexpr LocalResponseNorm kPaperNorm{.size = 5, .alpha = 5e-4, .beta = 0.75, .k = 2};

}  // namespace

Graph make(const Alexnet& options, const Samples& samples) {
  GraphBuilder b("alexnet");
  // 63 is the smallest image of which 3 rows are left for the last pooling.
  TrainingInputs inputs =
      float_inputs(b, samples, image_shape("alexnet", samples, {3, 224, 224}, 63));
  TensorId x = inputs.input;
  for (const Convolution& row : kTower) {
    std::string name = row.name;
    x = layers::conv2d(b, name, x,
                       {.out = scaled(row.out, options.width),
                        .kernel = row.kernel,
                        .stride = row.stride,
                        .pad = row.pad});
    x = layers::relu(b, name + ".relu", x);
    if (row.norm && options.lrn) x = b.add(name + ".lrn", kPaperNorm, {x});
    if (row.pool) x = layers::max_pool(b, name + ".pool", x, {.size = 3, .stride = 2});
  }
  x = layers::flatten(b, "flatten", x);
  // torchvision counts dropout and relu too, so the linear layers are 1, 4 and 6.
  for (const char* layer : {"1", "4"}) {
    std::string name = std::string("classifier.") + layer;
    x = layers::dropout(b, name + ".dropout", x, options.dropout);
    x = layers::linear(b, name, x, {.out = scaled(4096, options.width)});
    x = layers::relu(b, name + ".relu", x);
  }
  add_loss(b, inputs, layers::linear(b, "classifier.6", x, {.out = answers(samples, 1000)}),
           {"alexnet", options.loss});
  return b.finish();
}

}  // namespace troika::zoo
