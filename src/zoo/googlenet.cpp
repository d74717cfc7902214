#include "zoo/googlenet.h"

#include <vector>

#include "zoo/conv_norm.h"
#include "zoo/inputs_and_loss.h"

namespace troika::zoo {
namespace {

/// Output channels of the parts of one module.
struct Module {
  const char* name;
  std::int64_t one, three_reduce, three, five_reduce, five, pool;
};

struct InceptionStage {
  std::vector<Module> modules;
  std::int64_t pool_before;  ///< Window of the pooling, by 2, in front of the stage.
};

/// Table 1 of the paper; the last pooling has a window of 2, as in torchvision.
const std::vector<InceptionStage>& stages() {
  static const std::vector<InceptionStage> kStages{
      {{{"inception3a", 64, 96, 128, 16, 32, 32}, {"inception3b", 128, 128, 192, 32, 96, 64}}, 3},
      {{{"inception4a", 192, 96, 208, 16, 48, 64},
        {"inception4b", 160, 112, 224, 24, 64, 64},
        {"inception4c", 128, 128, 256, 24, 64, 64},
        {"inception4d", 112, 144, 288, 32, 64, 64},
        {"inception4e", 256, 160, 320, 32, 128, 128}},
       3},
      {{{"inception5a", 256, 160, 320, 32, 128, 128}, {"inception5b", 384, 192, 384, 48, 128, 128}},
       2}};
  return kStages;
}

class GooglenetBody {
 public:
  GooglenetBody(GraphBuilder& b, double width) : b_(b), width_(width) {}

  TensorId unit(const std::string& name, TensorId x, ConvNormOptions options) {
    options.out = scaled(options.out, width_);
    // Epsilon and deviation are those of torchvision.
    options.epsilon = 1e-3;
    options.init = layers::normal(0.01);
    return conv_norm(b_, {name + ".conv", name + ".bn", name + ".relu"}, x, options);
  }

  /// Figure 2b of the paper: 1 x 1 convolutions reduce the channels before the larger kernels and
  /// behind the pooling. The branches keep height and width, so that they can be joined.
  TensorId module(const Module& m, TensorId x) {
    std::string name = m.name;
    TensorId one = unit(name + ".branch1", x, {.out = m.one});
    TensorId three = unit(name + ".branch2.0", x, {.out = m.three_reduce});
    three = unit(name + ".branch2.1", three, {.out = m.three, .kernel = 3, .pad = 1});
    TensorId five = unit(name + ".branch3.0", x, {.out = m.five_reduce});
    five = unit(name + ".branch3.1", five, {.out = m.five, .kernel = 5, .pad = 2});
    TensorId pool =
        layers::max_pool(b_, name + ".branch4.0", x, {.size = 3, .stride = 1, .pad = 1});
    pool = unit(name + ".branch4.1", pool, {.out = m.pool});
    return layers::concat(b_, name, {one, three, five, pool}, 1);
  }

 private:
  GraphBuilder& b_;
  double width_;
};

}  // namespace

Graph make(const Googlenet& options, const Samples& samples) {
  GraphBuilder b("googlenet");
  TrainingInputs inputs =
      float_inputs(b, samples, image_shape("googlenet", samples, {3, 224, 224}, 15));
  GooglenetBody body(b, options.width);
  TensorId x = body.unit("conv1", inputs.input, {.out = 64, .kernel = 7, .stride = 2, .pad = 3});
  x = layers::max_pool(b, "maxpool1", x, {.size = 3, .stride = 2, .ceil = true});
  x = body.unit("conv2", x, {.out = 64});
  x = body.unit("conv3", x, {.out = 192, .kernel = 3, .pad = 1});
  int pools = 1;
  for (const InceptionStage& stage : stages()) {
    x = layers::max_pool(b, "maxpool" + std::to_string(++pools), x,
                         {.size = stage.pool_before, .stride = 2, .ceil = true});
    // A depth below 1 keeps the first modules of each stage, at least one.
    auto kept = static_cast<std::size_t>(
        scaled(static_cast<std::int64_t>(stage.modules.size()), options.depth));
    for (std::size_t at = 0; at < std::min(kept, stage.modules.size()); ++at)
      x = body.module(stage.modules[at], x);
  }
  x = layers::global_average_pool(b, "avgpool", x);
  x = layers::dropout(b, "dropout", x, options.dropout);
  add_loss(
      b, inputs,
      layers::linear(b, "fc", x, {.out = answers(samples, 1000), .init = layers::normal(0.01)}),
      {"googlenet", options.loss});
  return b.finish();
}

}  // namespace troika::zoo
