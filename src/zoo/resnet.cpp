#include "zoo/resnet.h"

#include <fmt/format.h>

#include "base/error.h"
#include "zoo/conv_norm.h"
#include "zoo/inputs_and_loss.h"
#include "zoo/options.h"

namespace troika::zoo {
namespace {

struct Plan {
  std::array<std::int64_t, 4> blocks;
  bool bottleneck;
};

/// Blocks per stage: table 1 of the paper.
Plan plan_of(std::int64_t layers) {
  switch (layers) {
    case 18:
      return {{2, 2, 2, 2}, false};
    case 50:
      return {{3, 4, 6, 3}, true};
    case 101:
      return {{3, 4, 23, 3}, true};
  }
  throw Error(ErrorKind::usage, fmt::format("a resnet has 18, 50 or 101 layers, not {}", layers));
}

struct Block {
  std::string name;
  std::int64_t middle;
  std::int64_t stride;
  bool bottleneck;

  std::int64_t out() const { return bottleneck ? 4 * middle : middle; }
};

ConvNormNames unit(const std::string& block, const std::string& number) {
  return {block + ".conv" + number, block + ".bn" + number, block + ".relu" + number};
}

/// The last unit of a block, without relu, which follows the addition.
ConvNormNames last_unit(const std::string& block, const std::string& number) {
  return {block + ".conv" + number, block + ".bn" + number, ""};
}

TensorId add_block(GraphBuilder& b, const Block& block, TensorId x) {
  TensorId y = x;
  if (block.bottleneck) {
    // The stride is in the 3 x 3 convolution, as in torchvision; the paper has it in the first 1 x
    // 1.
    y = conv_norm(b, unit(block.name, "1"), y, {.out = block.middle});
    y = conv_norm(b, unit(block.name, "2"), y,
                  {.out = block.middle, .kernel = 3, .stride = block.stride, .pad = 1});
    y = conv_norm(b, last_unit(block.name, "3"), y, {.out = block.out()});
  } else {
    y = conv_norm(b, unit(block.name, "1"), y,
                  {.out = block.middle, .kernel = 3, .stride = block.stride, .pad = 1});
    y = conv_norm(b, last_unit(block.name, "2"), y, {.out = block.middle, .kernel = 3, .pad = 1});
  }
  // Shortcuts of option B in the paper: a projection only where the shape changes.
  if (b.shape(x) != b.shape(y))
    x = conv_norm(b, {block.name + ".downsample.0", block.name + ".downsample.1", ""}, x,
                  {.out = block.out(), .stride = block.stride});
  return layers::relu(b, block.name + ".relu", layers::add(b, block.name + ".add", y, x));
}

enum class Stem { automatic, large, small };

std::span<const std::string_view> enum_names(Stem) {
  static constexpr std::array<std::string_view, 3> kNames{"auto", "large", "small"};
  return kNames;
}

TensorId add_stem(GraphBuilder& b, const Resnet& options, TensorId x) {
  std::int64_t out = scaled(64, options.width);
  Stem stem = parse_choice<Stem>({"resnet", "stem"}, options.stem);
  // The large stem divides height and width by 4, which would leave too little of an image such as
  // CIFAR's 32 x 32.
  bool large = stem == Stem::large || (stem == Stem::automatic && b.shape(x)[2] >= 64);
  if (!large) return conv_norm(b, {"conv1", "bn1", "relu"}, x, {.out = out, .kernel = 3, .pad = 1});
  x = conv_norm(b, {"conv1", "bn1", "relu"}, x, {.out = out, .kernel = 7, .stride = 2, .pad = 3});
  return layers::max_pool(b, "maxpool", x, {.size = 3, .stride = 2, .pad = 1});
}

}  // namespace

Graph make(const Resnet& options, const Samples& samples) {
  Plan plan = plan_of(options.layers);
  GraphBuilder b("resnet");
  TrainingInputs inputs = float_inputs(b, samples, image_shape("resnet", samples, {3, 224, 224}));
  TensorId x = add_stem(b, options, inputs.input);
  for (std::size_t stage = 0; stage < plan.blocks.size(); ++stage) {
    std::int64_t middle = scaled(std::int64_t{64} << stage, options.width);
    for (std::int64_t at = 0; at < scaled(plan.blocks[stage], options.depth); ++at) {
      std::int64_t stride = stage > 0 && at == 0 ? 2 : 1;
      x = add_block(b, {fmt::format("layer{}.{}", stage + 1, at), middle, stride, plan.bottleneck},
                    x);
    }
  }
  x = layers::global_average_pool(b, "avgpool", x);
  add_loss(b, inputs, layers::linear(b, "fc", x, {.out = answers(samples, 1000)}),
           {"resnet", options.loss});
  return b.finish();
}

}  // namespace troika::zoo
