#include "zoo/vgg.h"

#include <array>

#include "graph/layers.h"
#include "zoo/inputs_and_loss.h"

namespace troika::zoo {
namespace {

struct VggStage {
  std::int64_t out, convolutions;
};

constexpr std::array<VggStage, 5> kVggStages{{{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}}};

}  // namespace

Graph make(const Vgg& options, const Samples& samples) {
  GraphBuilder b("vgg16");
  // 32 is the smallest image, because five poolings halve it.
  TrainingInputs inputs =
      float_inputs(b, samples, image_shape("vgg16", samples, {3, 224, 224}, 32));
  TensorId x = inputs.input;
  int index = 0;
  // torchvision numbers convolutions, activations and poolings in one sequence.
  auto next = [&] { return "features." + std::to_string(index++); };
  for (const VggStage& stage : kVggStages) {
    std::int64_t out = scaled(stage.out, options.width);
    // He initialisation by fan-out, as in torchvision.
    for (std::int64_t at = 0; at < scaled(stage.convolutions, options.depth); ++at) {
      x = layers::conv2d(b, next(), x,
                         {.out = out, .kernel = 3, .pad = 1, .init = layers::he_normal(9 * out)});
      x = layers::relu(b, next(), x);
    }
    x = layers::max_pool(b, next(), x, {.size = 2});
  }
  x = layers::flatten(b, "flatten", x);
  // torchvision counts relu and dropout too, so the linear layers are 0, 3 and 6.
  for (const char* layer : {"0", "3"}) {
    std::string name = std::string("classifier.") + layer;
    x = layers::linear(b, name, x,
                       {.out = scaled(4096, options.width), .init = layers::normal(0.01)});
    x = layers::relu(b, name + ".relu", x);
    x = layers::dropout(b, name + ".dropout", x, options.dropout);
  }
  add_loss(b, inputs,
           layers::linear(b, "classifier.6", x,
                          {.out = answers(samples, 1000), .init = layers::normal(0.01)}),
           {"vgg16", options.loss});
  return b.finish();
}

}  // namespace troika::zoo
