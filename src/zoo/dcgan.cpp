#include "zoo/dcgan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "graph/layers.h"
#include "zoo/inputs_and_loss.h"

namespace troika::zoo {
namespace {

/// The image is halved until its smaller side is 4 or odd; the generator doubles it as often.
struct Geometry {
  std::int64_t channels;
  layers::Extent2 start;
  std::int64_t halvings = 0;
};

Geometry geometry_of(const Samples& samples) {
  Shape image = image_shape("dcgan", samples, {3, 64, 64});
  Geometry g{image[0], {image[1], image[2]}};
  while (g.start.height % 2 == 0 && g.start.width % 2 == 0 &&
         std::min(g.start.height, g.start.width) > 4) {
    g.start = {g.start.height / 2, g.start.width / 2};
    ++g.halvings;
  }
  if (g.halvings == 0)
    throw Error(
        ErrorKind::usage,
        fmt::format("model 'dcgan' takes images of even height and width of at least 6 pixels, "
                    "but the data has {}; choose other images",
                    to_string(image)));
  return g;
}

/// As section 3 of the paper asks: strided convolutions instead of pooling, batch norm except next
/// to the image, leaky relu with slope 0.2 in the discriminator. Kernel 4, stride 2 and padding 1
/// halve and double extents exactly.
class Networks {
 public:
  Networks(GraphBuilder& b, const Dcgan& options, const Geometry& geometry)
      : b_(b), options_(options), geometry_(geometry) {}

  /// noise [n,z] → images.
  TensorId generate(TensorId noise) {
    TensorId x = b_.add("generator.input", Reshape{.shape = {0, -1, 1, 1}}, {noise});
    for (std::int64_t level = geometry_.halvings; level > 0; --level) {
      bool first = level == geometry_.halvings;
      std::string number = std::to_string(geometry_.halvings - level + 1);
      layers::ConvTranspose2dOptions up{.out = channels(level), .bias = false, .init = init_};
      // From 1 x 1 a kernel of the start extents makes exactly that image.
      if (first)
        up.kernel = geometry_.start;
      else
        up.kernel = 4, up.stride = 2, up.pad = 1;
      x = layers::conv_transpose2d(b_, "generator.conv" + number, x, up);
      x = layers::batch_norm(b_, "generator.norm" + number, x);
      x = layers::relu(b_, "generator.relu" + number, x);
    }
    x = layers::conv_transpose2d(b_, "generator.output", x,
                                 {.out = geometry_.channels,
                                  .kernel = 4,
                                  .stride = 2,
                                  .pad = 1,
                                  .bias = false,
                                  .init = init_});
    return layers::activation(b_, "generator.image", x, ActivationKind::tanh);
  }

  /// Images → logits [n,1]. `side` names the operators; both sides share the parameters.
  TensorId discriminate(const std::string& side, TensorId x) {
    auto parameters = [](const std::string& layer) { return "discriminator." + layer; };
    for (std::int64_t level = 1; level <= geometry_.halvings; ++level) {
      std::string number = std::to_string(level), conv = "conv" + number, norm = "norm" + number;
      x = layers::conv2d(b_, side + conv, x,
                         {.out = channels(level),
                          .kernel = 4,
                          .stride = 2,
                          .pad = 1,
                          .bias = false,
                          .init = init_,
                          .parameters = parameters(conv)});
      if (level > 1)
        // Real and fake images are normalised as separate batches, and each side has its own
        // running statistics: two operators must not write one state.
        x = layers::batch_norm(b_, side + norm, x,
                               {.parameters = parameters(norm), .states = parameters(side + norm)});
      x = layers::leaky_relu(b_, side + "relu" + number, x, 0.2);
    }
    x = layers::conv2d(b_, side + "output", x,
                       {.out = 1,
                        .kernel = geometry_.start,
                        .bias = false,
                        .init = init_,
                        .parameters = parameters("output")});
    return layers::flatten(b_, side + "logits", x);
  }

 private:
  /// Level 1 is next to the image; every halving doubles the channels.
  std::int64_t channels(std::int64_t level) const { return options_.width << (level - 1); }

  GraphBuilder& b_;
  const Dcgan& options_;
  const Geometry& geometry_;
  Init init_ = layers::normal(0.02);  // Section 4 of the paper.
};

struct Inputs {
  TensorId noise, target, weight;
};

Inputs add_inputs(GraphBuilder& b, const Dcgan& options, const Samples& samples,
                  std::int64_t columns) {
  TensorId noise = b.input("noise", {{samples.batch, options.noise}, samples.dtype});
  TensorId target = b.input("target", {{samples.batch, columns}, samples.dtype});
  return {noise, target, b.input("weight", {{samples.batch}, samples.dtype})};
}

NamedGraph discriminator_step(const Dcgan& options, const Samples& samples,
                              const Geometry& geometry) {
  GraphBuilder b("discriminator");
  Shape image = image_shape("dcgan", samples, {3, 64, 64});
  TensorId real = b.input("input", {batched(samples.batch, image), samples.dtype});
  Inputs inputs = add_inputs(b, options, samples, 2);
  Networks networks(b, options, geometry);
  TensorId fake = networks.generate(inputs.noise);
  // Freezes by name, so it stands behind the operators that add the parameters.
  b.freeze("generator.");
  TensorId real_logits = networks.discriminate("real.", real);
  TensorId logits =
      layers::concat(b, "logits", {real_logits, networks.discriminate("fake.", fake)}, 1);
  b.output("logits", logits);
  b.loss("loss", SigmoidCrossEntropy{}, {logits, inputs.target, inputs.weight});
  return {"discriminator",
          b.finish(),
          // Column 0 is the real image, target 1; column 1 the generated one, target 0.
          {{"noise", Feed::Kind::normal}, {"target", Feed::Kind::columns, {1, 0}}}};
}

/// The target is 1, "real": the non-saturating loss of Goodfellow et al. 2014, arXiv:1406.2661,
/// section 3.
NamedGraph generator_step(const Dcgan& options, const Samples& samples, const Geometry& geometry) {
  GraphBuilder b("generator");
  Inputs inputs = add_inputs(b, options, samples, 1);
  Networks networks(b, options, geometry);
  TensorId image = networks.generate(inputs.noise);
  TensorId logits = networks.discriminate("fake.", image);
  b.freeze("discriminator.");
  b.output("image", image);
  b.output("logits", logits);
  b.loss("loss", SigmoidCrossEntropy{}, {logits, inputs.target, inputs.weight});
  return {"generator",
          b.finish(),
          {{"noise", Feed::Kind::normal}, {"target", Feed::Kind::columns, {1}}}};
}

}  // namespace

std::vector<NamedGraph> make(const Dcgan& options, const Samples& samples) {
  Geometry geometry = geometry_of(samples);
  return {discriminator_step(options, samples, geometry),
          generator_step(options, samples, geometry)};
}

}  // namespace troika::zoo
